# Benchmarks of the verifier.
foreach(name IN ITEMS candidate-overhead timing-noise)
  string(REPLACE "-" "_" file "${name}")
  swage_add_program(bench-${name} SOURCES ${file}.cpp fixture.cpp
                    LINK swage::verify nlohmann_json::nlohmann_json)
  add_dependencies(bench-${name} swage-worker)
endforeach()
