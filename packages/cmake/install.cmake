# What is installed, and where. Two components:
#   extension    cuckoo.so in the library folder itself: the dynamic linker looks there for a bare
#                name, so that `.load cuckoo` works
#   development  headers, libcuckoo.a for SQLite's side and libcuckoo_core.a for <cuckoo/...>, a
#                pkg-config file of each, and what find_package(sqlite_cuckoo) reads
include(CMakePackageConfigHelpers)

install(TARGETS cuckoo
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT extension)

if(TARGET cuckoo_static)
  set(cuckoo_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sqlite_cuckoo)
  set(generated ${PROJECT_BINARY_DIR}/packages)

  # The libraries that a program needs beside libcuckoo.a and SQLite.
  get_target_property(core_libraries cuckoo_core LINK_LIBRARIES)
  if(core_libraries MATCHES "OpenSSL::Crypto")
    set(cuckoo_needs_openssl ON)
    set(cuckoo_pc_requires "sqlite3 >= 3.40, libcrypto >= 3.0")
  else()
    set(cuckoo_needs_openssl OFF)
    set(cuckoo_pc_requires "sqlite3 >= 3.40")
  endif()

  # Relative to the file itself, so that what was installed may be moved.
  if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(cuckoo_pc_prefix ${CMAKE_INSTALL_PREFIX})
  else()
    string(REGEX REPLACE "[^/]+" ".." up ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    set(cuckoo_pc_prefix "\${pcfiledir}/${up}")
  endif()
  foreach(dir IN ITEMS LIBDIR INCLUDEDIR)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
      set(cuckoo_pc_${dir} ${CMAKE_INSTALL_${dir}})
    else()
      set(cuckoo_pc_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
    endif()
  endforeach()
  foreach(name IN ITEMS sqlite_cuckoo sqlite_cuckoo_core)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${generated}/${name}.pc @ONLY)
  endforeach()

  configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/sqlite_cuckoo-config.cmake.in
    ${generated}/sqlite_cuckoo-config.cmake
    INSTALL_DESTINATION ${cuckoo_cmake_dir}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
  write_basic_package_version_file(${generated}/sqlite_cuckoo-config-version.cmake
    COMPATIBILITY SameMinorVersion)

  install(TARGETS cuckoo_static cuckoo_library
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(FILES ${PROJECT_SOURCE_DIR}/ext/sqlite_cuckoo.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/core/include/cuckoo
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.hpp")
  install(FILES ${generated}/sqlite_cuckoo.pc ${generated}/sqlite_cuckoo_core.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
  install(FILES ${generated}/sqlite_cuckoo-config.cmake
    ${generated}/sqlite_cuckoo-config-version.cmake
    DESTINATION ${cuckoo_cmake_dir} COMPONENT development)
endif()
