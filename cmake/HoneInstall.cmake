# What `cmake --install` puts down: the command, its worker, the library, its headers and the kernels' sources; and find_package(hone).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Where the engine looks for its worker is fixed: ../libexec/hone beside bin.
install(TARGETS hone RUNTIME DESTINATION bin)
install(TARGETS hone-worker RUNTIME DESTINATION libexec/hone)
install(TARGETS hone_engine hone_plugin_headers EXPORT hone ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY engine/include/application/hone engine/include/kernel/hone engine/include/plugin/hone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# The sources of the built-in kernels, to read and to start one's own from; the library holds its own copy.
get_property(hone_kernels GLOBAL PROPERTY HONE_KERNELS)
install(FILES ${hone_kernels} DESTINATION ${CMAKE_INSTALL_DATADIR}/hone/kernels)

set(hone_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hone)
install(EXPORT hone NAMESPACE hone:: FILE hone-targets.cmake DESTINATION ${hone_config_dir})
configure_package_config_file(cmake/hone-config.cmake.in hone-config.cmake INSTALL_DESTINATION ${hone_config_dir})
write_basic_package_version_file(hone-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hone-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/hone-config-version.cmake
  DESTINATION ${hone_config_dir})
