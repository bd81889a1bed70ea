# The asynchronous run against the one in lock-step.
if(SWAGE_WITH_TORCH)
  swage_add_program(bench-async-vs-lockstep
    SOURCES async_vs_lockstep.cpp build_hash.cpp decode_gate.cpp fixture.cpp
            kept_figures.cpp measured_run.cpp run_figures.cpp run_judge.cpp run_probe.cpp run_timeline.cpp
            taught_policy.cpp ../swage/policy_parts.cpp
    LINK swage::actors swage::torch swage::core nlohmann_json::nlohmann_json)
  add_dependencies(bench-async-vs-lockstep swage-worker)
endif()
