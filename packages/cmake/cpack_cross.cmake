# Read by cpack: the dependency of a library that was built for another processor.
execute_process(COMMAND bash "${CPACK_CUCKOO_GLIBC_NEED}" "${CPACK_CUCKOO_MODULE}"
  OUTPUT_VARIABLE glibc OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(CPACK_DEBIAN_EXTENSION_PACKAGE_DEPENDS "libc6 (>= ${glibc})")
