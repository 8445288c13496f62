# Read by cpack: what a library depends on that says itself which glibc it needs.
execute_process(COMMAND bash "${CPACK_CUCKOO_GLIBC_NEED}" "${CPACK_CUCKOO_MODULE}"
  OUTPUT_VARIABLE glibc OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(CPACK_DEBIAN_EXTENSION_PACKAGE_DEPENDS "libc6 (>= ${glibc})")
