# The helpers the folders use. A folder's part is an object library; hone_assemble() makes one library of them all.
set_property(GLOBAL PROPERTY HONE_PARTS)
set_property(GLOBAL PROPERTY HONE_DEVICES)
set_property(GLOBAL PROPERTY HONE_LAUNCH_DEVICES)
set_property(GLOBAL PROPERTY HONE_STRATEGIES)
set_property(GLOBAL PROPERTY HONE_KERNELS)
set_property(GLOBAL PROPERTY HONE_KERNEL_HEADERS)
set_property(GLOBAL PROPERTY HONE_PROBES)

add_custom_target(hone_on_demand)  # tests and programs that `all` leaves out

add_library(hone_flags INTERFACE)
set(HONE_INCLUDES ${PROJECT_SOURCE_DIR}/engine/include)  # a folder for each reader: applications, kernel files, plugins
target_include_directories(hone_flags INTERFACE ${HONE_INCLUDES}/application ${HONE_INCLUDES}/kernel ${HONE_INCLUDES}/plugin ${PROJECT_SOURCE_DIR})
target_compile_options(hone_flags INTERFACE -ffunction-sections -fdata-sections -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
# The shared fmt halves the time to compile; a portable binary carries it instead.
set(HONE_FMT $<IF:$<BOOL:${HONE_PORTABLE}>,fmt::fmt-header-only,fmt::fmt>)
target_link_libraries(hone_flags INTERFACE ${HONE_FMT})
if(HONE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A struct of one source file, with a member of that file's anonymous namespace, is no struct of a header.
  target_compile_options(hone_flags INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The compiler collects garbage less often: a tenth of its time, for some hundred megabytes.
  target_compile_options(hone_flags INTERFACE "SHELL:--param ggc-min-expand=400" "SHELL:--param ggc-min-heapsize=500000")
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12 implements std::stable_sort by its own std::get_temporary_buffer, which C++17 deprecates.
  target_compile_options(hone_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(HONE_DEVELOPER_MODE)
  target_compile_options(hone_flags INTERFACE -Werror)
endif()
if(HONE_SANITIZE)
  target_compile_options(hone_flags INTERFACE -fsanitize=${HONE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(hone_flags INTERFACE -fsanitize=${HONE_SANITIZE})
endif()
if(HONE_PORTABLE)
  target_link_options(hone_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()

# hone_add_part(NAME SOURCES ... LIBRARIES ...): one folder's sources, an object library `hone_NAME`.
function(hone_add_part name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(hone_${name} OBJECT ${ARG_SOURCES})
  target_link_libraries(hone_${name} PUBLIC hone_flags ${ARG_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY HONE_PARTS hone_${name})
endfunction()

# hone_add_plugin(NAME KIND device|strategy SOURCES ... LIBRARIES ...): a part that defines
# `std::unique_ptr<hone::DevicePlugin> hone::make_NAME_device()` or `const hone_strategy* hone::NAME_strategy()`.
function(hone_add_plugin name)
  cmake_parse_arguments(ARG "" "KIND" "SOURCES;LIBRARIES" ${ARGN})
  hone_add_part(${ARG_KIND}_${name} SOURCES ${ARG_SOURCES} LIBRARIES ${ARG_LIBRARIES})
  if(ARG_KIND STREQUAL "device")
    set_property(GLOBAL APPEND PROPERTY HONE_DEVICES ${name})
  elseif(ARG_KIND STREQUAL "strategy")
    set_property(GLOBAL APPEND PROPERTY HONE_STRATEGIES ${name})
  else()
    message(FATAL_ERROR "hone_add_plugin(${name}): KIND must be device or strategy")
  endif()
endfunction()

# hone_add_launch_plugin(NAME SOURCES ... LIBRARIES ...): what of a device launches alone, and defines
# `std::unique_ptr<hone::LaunchPlugin> hone::make_NAME_launch_device()`.
function(hone_add_launch_plugin name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  hone_add_part(launch_${name} SOURCES ${ARG_SOURCES} LIBRARIES ${ARG_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY HONE_LAUNCH_DEVICES ${name})
endfunction()

# hone_add_kernel(NAME HEADERS ...): kernels_src/NAME/NAME.cu, read at build time and embedded with the headers of kernels_src it includes.
function(hone_add_kernel name)
  cmake_parse_arguments(ARG "" "" "HEADERS" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY HONE_KERNELS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/${name}.cu)
  foreach(header IN LISTS ARG_HEADERS)
    set_property(GLOBAL APPEND PROPERTY HONE_KERNEL_HEADERS ${CMAKE_CURRENT_SOURCE_DIR}/${header})
  endforeach()
endfunction()

# hone_add_probe(NAME): kernels_src/probes/NAME.cu, which measures what a device can do at most. Embedded like a kernel, but not in the runtime.
function(hone_add_probe name)
  set_property(GLOBAL APPEND PROPERTY HONE_PROBES ${CMAKE_CURRENT_SOURCE_DIR}/probes/${name}.cu)
endfunction()

# hone_embed_text(TARGET SYMBOL FILE): `extern const std::string_view SYMBOL` in namespace hone::embedded holds FILE's text.
function(hone_embed_text target symbol file)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_${symbol}.cpp)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${output} -DSYMBOL=${symbol} -P ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
    DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

# hone_assemble(): reads the kernels with a tool built of the same parts, generates the registry, and makes libraries of everything: hone::engine,
# and hone::runtime of what looks up and launches.
function(hone_assemble)
  get_property(parts GLOBAL PROPERTY HONE_PARTS)
  get_property(devices GLOBAL PROPERTY HONE_DEVICES)
  get_property(launch_devices GLOBAL PROPERTY HONE_LAUNCH_DEVICES)
  get_property(strategies GLOBAL PROPERTY HONE_STRATEGIES)
  get_property(kernels GLOBAL PROPERTY HONE_KERNELS)
  get_property(kernel_headers GLOBAL PROPERTY HONE_KERNEL_HEADERS)

  set(declarations "")
  set(calls "")
  foreach(device IN LISTS devices)
    string(APPEND declarations "std::unique_ptr<DevicePlugin> make_${device}_device();\n")
    string(APPEND calls "  built.add(make_${device}_device());\n")
  endforeach()
  foreach(strategy IN LISTS strategies)
    string(APPEND declarations "const hone_strategy* ${strategy}_strategy();\n")
    string(APPEND calls "  built.add(std::make_unique<StrategyPlugin>(${strategy}_strategy()));\n")
  endforeach()
  set(launch_declarations "")
  set(launch_calls "")
  foreach(device IN LISTS launch_devices)
    string(APPEND launch_declarations "std::unique_ptr<LaunchPlugin> make_${device}_launch_device();\n")
    list(APPEND launch_calls "make_${device}_launch_device()")
  endforeach()
  list(JOIN launch_calls ", " launch_calls)
  set(generated ${PROJECT_BINARY_DIR}/generated)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/builtin_registry.cpp.in ${generated}/builtin_registry.cpp @ONLY)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/runtime_parts.cpp.in ${generated}/runtime_parts.cpp @ONLY)

  add_executable(hone_embed_kernels ${PROJECT_SOURCE_DIR}/engine/reader/embed_kernels.cpp)
  target_link_libraries(hone_embed_kernels PRIVATE hone_base hone_kernel hone_kernel_text hone_reader ZLIB::ZLIB)
  get_property(probes GLOBAL PROPERTY HONE_PROBES)
  foreach(set kernels probes)
    set(embedded ${generated}/embedded_${set}.cpp)
    add_custom_command(OUTPUT ${embedded} COMMAND hone_embed_kernels ${embedded} embedded_${set} ${${set}}
      DEPENDS hone_embed_kernels ${${set}} ${kernel_headers} VERBATIM)
  endforeach()

  # For what only launches.
  set(launched ${generated}/launched_kernels.cpp)
  add_custom_command(OUTPUT ${launched} COMMAND hone_embed_kernels ${launched} embedded_kernels --without-code ${kernels}
    DEPENDS hone_embed_kernels ${kernels} ${kernel_headers} VERBATIM)

  foreach(source embedded_kernels embedded_probes launched_kernels builtin_registry runtime_parts)
    add_library(hone_${source} OBJECT ${generated}/${source}.cpp)
    target_link_libraries(hone_${source} PRIVATE hone_flags)
  endforeach()
  set(runtime_parts hone_base hone_kernel hone_kernel_text hone_space hone_space_text hone_device hone_store hone_runtime hone_loading hone_c hone_cache hone_launched_kernels)
  foreach(device IN LISTS launch_devices)
    list(APPEND runtime_parts hone_launch_${device})
  endforeach()
  set(runtime_links ${HONE_FMT} SQLite::SQLite3 ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})

  hone_add_library(hone_engine STATIC engine_static hone PARTS ${parts} hone_embedded_kernels hone_embedded_probes hone_builtin_registry
    LIBRARIES ${runtime_links} Boost::context)
  add_library(hone::engine ALIAS hone_engine)
  hone_add_library(hone_runtime_static STATIC runtime_static hone-runtime PARTS ${runtime_parts} hone_runtime_parts LIBRARIES ${runtime_links})
  add_library(hone::runtime ALIAS hone_runtime_static)
  if(NOT HONE_PORTABLE)  # static libraries of a distribution cannot go into a shared one
    hone_add_library(hone_shared SHARED engine hone PARTS ${parts} hone_embedded_kernels hone_embedded_probes hone_builtin_registry
      LIBRARIES ${runtime_links} Boost::context)
    hone_add_library(hone_runtime_shared SHARED runtime hone-runtime PARTS ${runtime_parts} hone_runtime_parts LIBRARIES ${runtime_links})
  endif()
endfunction()

# hone_add_library(TARGET STATIC|SHARED EXPORT FILE PARTS ... LIBRARIES ...): a library of parts, hone::EXPORT to who finds it installed. The
# parts' objects go in by name, not by linking the parts: an exported static library may link only what a consumer can find again
# (hone-config.cmake.in lists the same libraries), and hone_flags is for our own sources alone.
function(hone_add_library target kind export file)
  cmake_parse_arguments(ARG "" "" "PARTS;LIBRARIES" ${ARGN})
  add_library(${target} ${kind})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${file} EXPORT_NAME ${export} LINKER_LANGUAGE CXX)
  foreach(part IN LISTS ARG_PARTS)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${part}>)
  endforeach()
  target_link_libraries(${target} PRIVATE ${ARG_LIBRARIES})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${HONE_INCLUDES}/application> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(kind STREQUAL "SHARED")
    # Before 1.0 a minor version may change the interface. What nobody calls and nobody sees is left out.
    set(map ${PROJECT_SOURCE_DIR}/cmake/hone.map)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
      LINK_DEPENDS ${map})
    target_link_options(${target} PRIVATE $<TARGET_PROPERTY:hone_flags,INTERFACE_LINK_OPTIONS> -Wl,--version-script=${map} -Wl,--gc-sections)
    if(NOT HONE_SANITIZE)  # what a sanitizer calls is in the program
      target_link_options(${target} PRIVATE -Wl,--no-undefined)
    endif()
  endif()
endfunction()

# hone::plugin: what a plugin links, the headers alone.
add_library(hone_plugin_headers INTERFACE)
set_target_properties(hone_plugin_headers PROPERTIES EXPORT_NAME plugin)
target_include_directories(hone_plugin_headers INTERFACE $<BUILD_INTERFACE:${HONE_INCLUDES}/plugin> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# hone_add_test(NAME SOURCES ... LABELS ... TIMEOUT seconds): one doctest binary `test_NAME`, one ctest entry.
# With CONFIGURATION it is built and run on demand alone: ninja test_NAME && ctest -C CONFIGURATION.
# ENGINE: the library that is tested, hone_engine if none is given.
# With EACH_FILE an entry for each source, NAME_STEM for STEM_test.cpp, that runs its test cases alone.
function(hone_add_test name)
  cmake_parse_arguments(ARG "EACH_FILE" "TIMEOUT;CONFIGURATION;ENGINE" "SOURCES;LABELS;LIBRARIES;DEFINITIONS;ARGUMENTS" ${ARGN})
  if(NOT TARGET hone_test_main)
    add_library(hone_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/main.cpp)
    target_link_libraries(hone_test_main PRIVATE hone_flags doctest::doctest)
    target_compile_options(hone_test_main PRIVATE $<$<CONFIG:Release>:-O0>)
  endif()
  add_executable(test_${name} ${ARG_SOURCES} $<TARGET_OBJECTS:hone_test_main>)
  if(NOT ARG_ENGINE)
    set(ARG_ENGINE hone_engine)
  endif()
  target_link_libraries(test_${name} PRIVATE ${ARG_ENGINE} hone_flags doctest::doctest nlohmann_json::nlohmann_json ${ARG_LIBRARIES})
  # A test runs once for each time it is compiled: the optimizer's time would not come back.
  target_compile_options(test_${name} PRIVATE $<$<CONFIG:Release>:-O0>)
  target_compile_definitions(test_${name} PRIVATE HONE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" HONE_BINARY_DIR="${PROJECT_BINARY_DIR}" ${ARG_DEFINITIONS})
  if(ARG_CONFIGURATION)
    set_target_properties(test_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(hone_on_demand test_${name})
  endif()
  set(entries ${name})
  if(ARG_EACH_FILE)
    set(entries "")
    foreach(source IN LISTS ARG_SOURCES)
      string(REGEX REPLACE "_test\\.cpp$" "" stem ${source})
      add_test(NAME ${name}_${stem} COMMAND test_${name} --source-file=*/${source})
      set_tests_properties(${name}_${stem} PROPERTIES FAIL_REGULAR_EXPRESSION "test cases: +0 ")  # a filter that finds nothing succeeds
      list(APPEND entries ${name}_${stem})
    endforeach()
  else()
    add_test(NAME ${name} COMMAND test_${name} ${ARG_ARGUMENTS} CONFIGURATIONS ${ARG_CONFIGURATION})
  endif()
  set_tests_properties(${entries} PROPERTIES LABELS "${ARG_LABELS}" SKIP_RETURN_CODE 77)
  if(ARG_TIMEOUT)
    set_tests_properties(${entries} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  endif()
  if(HONE_SANITIZE MATCHES address)
    # GCC 12's LeakSanitizer faults over the thread-local storage of libraries that are opened at run time, as NVRTC is.
    set_tests_properties(${entries} PROPERTIES ENVIRONMENT ASAN_OPTIONS=intercept_tls_get_addr=0)
  endif()
endfunction()
