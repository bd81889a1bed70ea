# What runs around a candidate, in a process of its own: swage-worker and, for
# Python templates, libswage_sandbox.so. Without sanitizers in every preset:
# their shadow memory does not fit under an address space limit, their fault
# handlers would hide a candidate's, and Python could not load the library.
add_library(swage_plain INTERFACE)
target_include_directories(swage_plain INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(swage_plain INTERFACE -Wall -Wextra -Wpedantic -O2)

add_library(swage_sandbox_objects OBJECT
  sandbox_isolate.cpp sandbox_filter.cpp sandbox_fault.cpp sandbox_cases.cpp
  sandbox_serve.cpp packet.cpp)
target_link_libraries(swage_sandbox_objects
                      PUBLIC swage_plain PkgConfig::SECCOMP ${CMAKE_DL_LIBS})

add_library(swage_sandbox SHARED)
target_link_libraries(swage_sandbox PRIVATE swage_sandbox_objects)
