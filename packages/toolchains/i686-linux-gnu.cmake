# Cross-building for Linux on 32-bit x86 with Debian's compiler (g++-i686-linux-gnu).
# CUCKOO_SYSROOT: where sysroot.sh put i386's libraries.
set(CMAKE_SYSTEM_PROCESSOR i686)
set(cuckoo_triplet i686-linux-gnu)
set(cuckoo_loader /usr/i686-linux-gnu/lib/ld-linux.so.2)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
