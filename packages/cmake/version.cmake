# Sets cuckoo_version to the version in ext/version.hpp: the one place that has it.
set(cuckoo_version_file ${CMAKE_CURRENT_LIST_DIR}/../../ext/version.hpp)
file(STRINGS ${cuckoo_version_file} cuckoo_version
  REGEX "kVersion\\[\\] = \"[0-9]+\\.[0-9]+\\.[0-9]+\"")
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" cuckoo_version "${cuckoo_version}")
if(NOT cuckoo_version)
  message(FATAL_ERROR "${cuckoo_version_file}: no kVersion[] = \"major.minor.patch\"")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${cuckoo_version_file})
