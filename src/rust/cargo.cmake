# taskgrain_cargo(NAME): the driver of a system in Rust, from its Cargo.toml, NAME.rs and the modules beside it. There is
# none until the `setup` of the system has fetched the crates.
if(COMMAND taskgrain_cargo)
  return()
endif()
find_program(TASKGRAIN_CARGO cargo)

function(taskgrain_cargo name)
  if(NOT TASKGRAIN_CARGO OR TASKGRAIN_SANITIZE OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(from ${CMAKE_CURRENT_SOURCE_DIR})
  set(to ${CMAKE_CURRENT_BINARY_DIR})
  execute_process(COMMAND ${from}/setup --where OUTPUT_VARIABLE crates OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT EXISTS ${crates}/Cargo.lock)
    return()
  endif()
  # Cargo writes beside the Cargo.toml: that of the build folder, where all that it names lies as in the sources.
  set(face ${PROJECT_SOURCE_DIR}/src/rust)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/src)
  file(CREATE_LINK ${face} ${PROJECT_BINARY_DIR}/src/rust SYMBOLIC)
  file(CREATE_LINK ${from}/Cargo.toml ${to}/Cargo.toml SYMBOLIC)
  file(GLOB sources CONFIGURE_DEPENDS ${from}/*.rs)
  foreach(source IN LISTS sources)
    get_filename_component(file ${source} NAME)
    file(CREATE_LINK ${source} ${to}/${file} SYMBOLIC)
  endforeach()
  configure_file(${crates}/Cargo.lock ${to}/Cargo.lock COPYONLY)
  set(library ${to}/target/release/libdriver.a)
  add_custom_command(OUTPUT ${library}
    COMMAND ${CMAKE_COMMAND} -E env --unset=CARGO_BUILD_TARGET CARGO_HOME=${crates} CARGO_TARGET_DIR=${to}/target
            ${TASKGRAIN_CARGO} build --quiet --release --offline --locked --manifest-path ${to}/Cargo.toml
    DEPENDS ${from}/Cargo.toml ${sources} ${to}/Cargo.lock
            ${face}/Cargo.toml ${face}/build.rs ${face}/lib.rs
    WORKING_DIRECTORY ${crates} VERBATIM)
  # The library has `main`; it needs taskgrain's, and what Rust's standard library needs.
  taskgrain_system(${name} SOURCES ${library} LIBRARIES ${library} taskgrain::driver Threads::Threads ${CMAKE_DL_LIBS} m)
endfunction()
