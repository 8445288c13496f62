# Cross-building for Linux on 64-bit ARM with Debian's compiler (g++-aarch64-linux-gnu).
# CUCKOO_SYSROOT: where sysroot.sh put arm64's libraries.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(cuckoo_triplet aarch64-linux-gnu)
set(cuckoo_qemu qemu-aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
