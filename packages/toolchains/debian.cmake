# What the toolchain files here share.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${cuckoo_triplet}-gcc)
set(CMAKE_CXX_COMPILER ${cuckoo_triplet}-g++)

set(CUCKOO_SYSROOT "" CACHE PATH "The other processor's libraries: made by packages/toolchains/sysroot.sh")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CUCKOO_SYSROOT)
if(NOT IS_DIRECTORY "${CUCKOO_SYSROOT}/usr")
  message(FATAL_ERROR "CUCKOO_SYSROOT must name a folder that packages/toolchains/sysroot.sh filled")
endif()

# Not CMAKE_SYSROOT: the C library is the cross-compiler's own.
set(CMAKE_FIND_ROOT_PATH ${CUCKOO_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

file(GLOB cuckoo_library_dirs ${CUCKOO_SYSROOT}/usr/lib/*-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE_REGEX "[a-z0-9_]+-linux-gnu")
get_filename_component(CMAKE_LIBRARY_ARCHITECTURE ${cuckoo_library_dirs} NAME)
file(GLOB cuckoo_include_dir ${CUCKOO_SYSROOT}/usr/include/*-linux-gnu)  # openssl/configuration.h
add_compile_options(-isystem ${cuckoo_include_dir})
add_link_options(-Wl,-rpath-link,${cuckoo_library_dirs})

# How the programs that are built run here: with the cross-compiler's C library and the libraries of
# CUCKOO_SYSROOT, by qemu-user or, where the processor can, by their own loader.
set(cuckoo_library_path ${cuckoo_library_dirs}:/usr/${cuckoo_triplet}/lib)
if(cuckoo_qemu)
  set(CMAKE_CROSSCOMPILING_EMULATOR
    ${cuckoo_qemu};-L;/usr/${cuckoo_triplet};-E;LD_LIBRARY_PATH=${cuckoo_library_path})
else()
  set(CMAKE_CROSSCOMPILING_EMULATOR ${cuckoo_loader};--library-path;${cuckoo_library_path})
endif()
