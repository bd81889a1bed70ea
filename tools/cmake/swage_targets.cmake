# One function per kind of target. Flags live in one INTERFACE target.

add_library(swage_flags INTERFACE)
target_compile_features(swage_flags INTERFACE cxx_std_20)
target_include_directories(swage_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_link_libraries(swage_flags INTERFACE $<BUILD_INTERFACE:tl::expected> fmt::fmt)
# GCC 12 sees overlaps in std::string that are not there (bug 105329).
target_compile_options(swage_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wno-missing-field-initializers -Wno-restrict)
if(SWAGE_SANITIZE)
  target_compile_options(swage_flags INTERFACE
    -fsanitize=${SWAGE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(swage_flags INTERFACE -fsanitize=${SWAGE_SANITIZE})
endif()

# swage_add_library(NAME SOURCES ... HEADERS ... PUBLIC ... PRIVATE ...)
# A static library `swage::NAME`. Headers are checked to compile alone by the
# target `all_verify_interface_header_sets`.
function(swage_add_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;HEADERS;PUBLIC;PRIVATE" ${ARGN})
  if(arg_SOURCES)
    add_library(swage_${name} STATIC ${arg_SOURCES})
    set(visibility PUBLIC)
    target_link_libraries(swage_${name} PUBLIC swage_flags ${arg_PUBLIC}
                          PRIVATE ${arg_PRIVATE})
    target_sources(swage_${name} PUBLIC FILE_SET HEADERS
                   BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${arg_HEADERS})
    set_target_properties(swage_${name} PROPERTIES
                          VERIFY_INTERFACE_HEADER_SETS ON)
  else()
    add_library(swage_${name} INTERFACE)
    target_link_libraries(swage_${name} INTERFACE swage_flags ${arg_PUBLIC})
  endif()
  add_library(swage::${name} ALIAS swage_${name})
endfunction()

# swage_add_program(NAME SOURCES ... LINK ...): a program in build/<preset>/bin.
function(swage_add_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE swage_flags ${arg_LINK})
endfunction()

# swage_add_test(NAME SOURCES ... LINK ... [TIMEOUT SECONDS] [SERIAL])
# A Catch2 program, one ctest entry for each of its test cases is too slow to
# start with torch, so the program is the entry; Catch2's exit code 4 (every
# test skipped) is a skip.
function(swage_add_test name)
  cmake_parse_arguments(arg "SERIAL" "TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE
                        swage_flags ${arg_LINK} Catch2::Catch2WithMain)
  add_test(NAME ${name} COMMAND test_${name}
           WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 4
    ENVIRONMENT "SWAGE_PYTHON=${SWAGE_PYTHON};SWAGE_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};ASAN_OPTIONS=detect_container_overflow=0:detect_leaks=1;TSAN_OPTIONS=second_deadlock_stack=1")
  if(arg_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()
