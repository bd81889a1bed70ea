# Benchmarks that drive the program `swage` as a process.
if(SWAGE_WITH_TORCH)
  swage_add_program(bench-quickstart-seeds
    SOURCES quickstart_seeds.cpp build_hash.cpp fixture.cpp
            train_process.cpp seed_statistics.cpp seed_outcome.cpp seed_summary.cpp
            seed_tables.cpp
    LINK swage::core CLI11::CLI11 nlohmann_json::nlohmann_json)
  swage_add_program(bench-resume-after-kill
    SOURCES resume_after_kill.cpp fixture.cpp train_process.cpp killed_run.cpp
            kill_plan.cpp leftovers.cpp run_audit.cpp run_facts.cpp
            run_watch.cpp
    LINK swage::core CLI11::CLI11 nlohmann_json::nlohmann_json)
  foreach(name IN ITEMS quickstart-seeds resume-after-kill)
    add_dependencies(bench-${name} swage swage-worker)
  endforeach()
endif()
