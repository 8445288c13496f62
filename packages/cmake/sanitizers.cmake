# What CUCKOO_SANITIZE and CUCKOO_FUZZ mean for every target.
#
#   sanitizers         what -fsanitize= is told, or empty
#   sanitizer_runtime  the library to preload into a program that has none, or empty

if(CUCKOO_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "CUCKOO_FUZZ needs Clang: -DCMAKE_CXX_COMPILER=clang++")
  endif()
  if(CUCKOO_SANITIZE)
    message(FATAL_ERROR "CUCKOO_FUZZ brings its own sanitizers: leave CUCKOO_SANITIZE empty")
  endif()
  set(sanitizers "fuzzer-no-link,address,undefined")
elseif(NOT CUCKOO_SANITIZE STREQUAL "")
  set(sanitizers "${CUCKOO_SANITIZE}")
else()
  set(sanitizers "")
endif()
if(sanitizers)
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all)
endif()

# The sanitizer's runtime is a library that can be preloaded into a program without one, the sqlite3
# shell. GCC's is; Clang has to be told, and where it is. Its library for threads crashes at start.
set(runtimes "")
if(CUCKOO_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  if(CUCKOO_SANITIZE MATCHES "thread")
    set(runtimes libtsan.so)
  else()
    set(runtimes libasan.so)
  endif()
elseif(CUCKOO_SANITIZE AND NOT CUCKOO_SANITIZE MATCHES "thread" AND NOT APPLE)
  set(runtimes libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so libclang_rt.asan.so)
endif()
set(sanitizer_runtime "")
foreach(name IN LISTS runtimes)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name}
    OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(IS_ABSOLUTE "${file}" AND NOT sanitizer_runtime)  # what the compiler doesn't find has no folder
    set(sanitizer_runtime ${file})
  endif()
endforeach()
if(runtimes AND NOT sanitizer_runtime)
  list(JOIN runtimes " or " runtimes)
  message(FATAL_ERROR "CUCKOO_SANITIZE: ${CMAKE_CXX_COMPILER} has no ${runtimes}; Debian's are in "
    "libclang-rt-dev, and GCC's come with it")
endif()
if(sanitizer_runtime MATCHES "clang_rt")
  get_filename_component(directory ${sanitizer_runtime} DIRECTORY)
  add_link_options(-shared-libsan -Wl,-rpath,${directory})
endif()
