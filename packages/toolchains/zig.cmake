# Cross-building with the compiler that zig_libraries.sh brings, for macOS 11 or newer and for Linux
# with musl. CUCKOO_LIBRARIES: the folder where it put that and the libraries.
# CUCKOO_SYSTEM, CUCKOO_MACHINE: as CMake and that system call them, such as Darwin and arm64.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CUCKOO_LIBRARIES CUCKOO_SYSTEM CUCKOO_MACHINE)
set(CMAKE_SYSTEM_NAME ${CUCKOO_SYSTEM})
set(CMAKE_SYSTEM_PROCESSOR ${CUCKOO_MACHINE})
set(CMAKE_C_COMPILER ${CUCKOO_LIBRARIES}/cc)
set(CMAKE_CXX_COMPILER ${CUCKOO_LIBRARIES}/c++)
set(CMAKE_AR ${CUCKOO_LIBRARIES}/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${CUCKOO_LIBRARIES}/ranlib CACHE FILEPATH "")
set(CMAKE_INSTALL_NAME_TOOL /bin/false CACHE FILEPATH "CMake asks for one; nothing is installed")
set(CMAKE_OSX_SYSROOT "" CACHE STRING "The compiler has its own")
set(CMAKE_OSX_DEPLOYMENT_TARGET "" CACHE STRING "The compiler's target names it")
# What CMake tries need not be linked: the compiler would build its runtime for that.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

set(CUCKOO_RUNTIME_LINKED_IN ON)

set(CMAKE_FIND_ROOT_PATH ${CUCKOO_LIBRARIES})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
