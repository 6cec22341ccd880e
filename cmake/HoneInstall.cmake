# What `cmake --install` puts down, and packages of it: the command with its worker, the libraries, their headers for each reader, the kernels'
# sources; find_package(hone) and pkg-config. All of it finds itself wherever the prefix is moved to.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The library looks for its worker from where it lies itself: ../libexec/hone beside bin and lib, one further up beside lib/<architecture>.
install(TARGETS hone RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT engine)
install(TARGETS hone-worker RUNTIME DESTINATION libexec/hone COMPONENT engine)

set(hone_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hone)
# hone_install_target(COMPONENT TARGET): the target with an export of its own, so that who wants one needs nothing of the others.
function(hone_install_target component target)
  install(TARGETS ${target} EXPORT hone_${component}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT engine
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT engine)
  install(EXPORT hone_${component} NAMESPACE hone:: FILE hone-${component}-targets.cmake DESTINATION ${hone_config_dir} COMPONENT engine)
endfunction()
hone_install_target(plugin hone_plugin_headers)
hone_install_target(engine_static hone_engine)
hone_install_target(runtime_static hone_runtime_static)
if(TARGET hone_shared)
  hone_install_target(engine hone_shared)
  hone_install_target(runtime hone_runtime_shared)
endif()

foreach(reader application kernel plugin)
  install(DIRECTORY engine/include/${reader}/hone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT engine)
endforeach()

# The sources of the built-in kernels, to read, to tune and to start one's own from; the library holds its own copy.
install(DIRECTORY kernels_src/ DESTINATION ${CMAKE_INSTALL_DATADIR}/hone/kernels COMPONENT engine FILES_MATCHING PATTERN "*.cu" PATTERN "*.h")
install(FILES LICENSE README.md ARCHITECTURE.md CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT engine)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT engine FILES_MATCHING PATTERN "*.md" PATTERN "results" EXCLUDE)

configure_package_config_file(cmake/hone-config.cmake.in hone-config.cmake INSTALL_DESTINATION ${hone_config_dir})
write_basic_package_version_file(hone-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hone-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/hone-config-version.cmake
  DESTINATION ${hone_config_dir} COMPONENT engine)

# pkg-config finds the prefix from where the file lies. The static libraries' dependencies are libraries (Libs.private), not packages
# (Requires.private): pkg-config would demand their development packages even for the shared library.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  message(FATAL_ERROR "CMAKE_INSTALL_LIBDIR is ${CMAKE_INSTALL_LIBDIR}; give it relative to the prefix, since what is installed can be moved")
endif()
set(hone_pc_fmt " -lfmt")
if(HONE_PORTABLE)
  set(hone_pc_fmt "")
endif()
file(RELATIVE_PATH hone_pc_prefix /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
foreach(package hone hone-runtime hone-plugin)
  configure_file(cmake/${package}.pc.in ${package}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT engine)
endforeach()

# `cpack` makes a .deb whose dependencies are read from what the files link, and a .tar.gz.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()  # the packages are those of the project that Hone is a part of
endif()
set(CPACK_PACKAGE_NAME hone)
set(CPACK_PACKAGE_VENDOR "The Hone authors")
set(CPACK_PACKAGE_CONTACT "The Hone authors <hone@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_MONOLITHIC_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# Opened at run time: a compiler for the cpu device, libclang for kernel files of one's own.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++, libclang1-19 | libclang1-18 | libclang1-17")
include(CPack)
