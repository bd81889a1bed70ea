# Benchmarks of the verifier.
swage_add_program(bench-candidate-overhead
  SOURCES candidate_overhead.cpp fixture.cpp
  LINK swage::verify nlohmann_json::nlohmann_json)
add_dependencies(bench-candidate-overhead swage-worker)
if(SWAGE_WITH_TORCH)
  swage_add_program(bench-timing-noise SOURCES timing_noise.cpp fixture.cpp
                    LINK swage::actors swage::torch swage::core
                         nlohmann_json::nlohmann_json)
  add_dependencies(bench-timing-noise swage-worker)
endif()
