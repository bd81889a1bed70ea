# Finds what the project stands on. tools/setup installs it and leaves the
# prefixes that it made in $SWAGE_DEPS/env, which is read where a variable was
# not given with -D.

if(DEFINED ENV{SWAGE_DEPS})
  set(deps "$ENV{SWAGE_DEPS}")
else()
  set(deps "$ENV{HOME}/.cache/swage")
endif()
if(EXISTS "${deps}/env")
  file(STRINGS "${deps}/env" lines REGEX "^(export )?[A-Z_]+=")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^(export )?([A-Z_]+)=[\"']?([^\"']*)[\"']?$" "\\2;\\3" pair "${line}")
    list(GET pair 0 key)
    list(GET pair 1 value)
    if(NOT DEFINED ${key} AND value)
      set(${key} "${value}")
    endif()
  endforeach()
endif()
if(DEFINED ENV{SWAGE_PYTHON})
  set(SWAGE_PYTHON "$ENV{SWAGE_PYTHON}")
endif()
if(SWAGE_SANITIZE MATCHES "thread")
  set(SWAGE_CAF_PREFIX "${SWAGE_CAF_TSAN_PREFIX}")
endif()
if(NOT SWAGE_CAF_PREFIX OR NOT SWAGE_PYTHON)
  message(FATAL_ERROR
    "CAF or Python is not set up (looked into ${deps}/env).\n"
    "Run tools/setup first, or give -DSWAGE_CAF_PREFIX=... -DSWAGE_PYTHON=...")
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};CCACHE_NOHASHDIR=1;${CCACHE}")
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED) # A static CAF needs it found first.
find_package(CAF 0.18.7 REQUIRED COMPONENTS core io openssl
             PATHS "${SWAGE_CAF_PREFIX}" NO_DEFAULT_PATH)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(TOMLPLUSPLUS REQUIRED IMPORTED_TARGET tomlplusplus)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
target_link_libraries(PkgConfig::HTTPLIB INTERFACE OpenSSL::SSL)
if(PROJECT_IS_TOP_LEVEL) # For the tests.
  find_package(Catch2 3.7 REQUIRED)
  find_path(RAPIDCHECK_INCLUDE rapidcheck.h REQUIRED)
  find_library(RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
  add_library(rapidcheck INTERFACE)
  target_include_directories(rapidcheck SYSTEM INTERFACE "${RAPIDCHECK_INCLUDE}")
  target_link_libraries(rapidcheck INTERFACE "${RAPIDCHECK_LIBRARY}")
endif()

# The wheel's find_package(Torch) stops where no CUDA toolkit is installed, so
# this is an imported target of our own over the CPU half of LibTorch.
set(swage_torch_version "off")
if(SWAGE_WITH_TORCH)
  if(NOT SWAGE_TORCH_ROOT)
    execute_process(
      COMMAND "${SWAGE_PYTHON}" -c
              "import os, torch; print(os.path.dirname(torch.__file__))"
      OUTPUT_VARIABLE SWAGE_TORCH_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
  file(READ "${SWAGE_TORCH_ROOT}/version.py" text)
  string(REGEX MATCH "__version__ = '([^']+)'" _ "${text}")
  set(swage_torch_version "${CMAKE_MATCH_1}")
  add_library(swage_libtorch INTERFACE)
  target_include_directories(swage_libtorch SYSTEM INTERFACE
    "${SWAGE_TORCH_ROOT}/include"
    "${SWAGE_TORCH_ROOT}/include/torch/csrc/api/include")
  target_compile_definitions(swage_libtorch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  target_link_directories(swage_libtorch INTERFACE "${SWAGE_TORCH_ROOT}/lib")
  target_link_libraries(swage_libtorch INTERFACE torch torch_cpu c10)
  target_link_options(swage_libtorch INTERFACE
    "-Wl,-rpath,${SWAGE_TORCH_ROOT}/lib" -Wl,--allow-shlib-undefined)
  find_path(GLOO_INCLUDE gloo/context.h REQUIRED)
endif()

include(CheckLanguage)
check_language(CUDA)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2
             HINTS "${SWAGE_TORCH_ROOT}/../nvidia/nccl/lib")
pkg_check_modules(UCX IMPORTED_TARGET ucx)

function(swage_print_summary)
  foreach(pair "CUDA=${CMAKE_CUDA_COMPILER}" "NCCL=${NCCL_LIBRARY}"
               "UCX=${UCX_VERSION}")
    string(REPLACE "=" ";" pair "${pair}")
    list(GET pair 0 name)
    list(LENGTH pair length)
    set(value "")
    if(length GREATER 1)
      list(GET pair 1 value)
    endif()
    if(value MATCHES "NOTFOUND" OR NOT value)
      set(value "not found: off")
    endif()
    message(STATUS "swage: ${name} ${value}")
  endforeach()
  message(STATUS "swage: LibTorch ${swage_torch_version}, CAF ${CAF_VERSION}, "
                 "Python ${SWAGE_PYTHON}")
endfunction()
