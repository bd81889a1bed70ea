# Tests of the trusted half.
swage_add_test(verify_compare SOURCES test_compare.cpp
               LINK swage::verify rapidcheck)
swage_add_test(verify_score SOURCES test_score.cpp
               LINK swage::verify rapidcheck nlohmann_json::nlohmann_json)
swage_add_test(verify_measure_statistics SOURCES test_measure_statistics.cpp
               LINK swage::verify rapidcheck)
swage_add_test(verify_measure_looks SOURCES test_measure_looks.cpp
               LINK swage::verify)
swage_add_test(verify_measure_values SOURCES test_measure_values.cpp
               LINK swage::verify)
swage_add_test(verify_load_tasks SOURCES test_load_tasks.cpp
               LINK swage::verify)
swage_add_test(verify_verdict_cache SOURCES test_verdict_cache.cpp
               LINK swage::verify)
# These start the judge: Python with torch.
swage_add_test(verify_python_process
  SOURCES test_python_process.cpp ../../system/process.cpp
  LINK swage::verify nlohmann_json::nlohmann_json TIMEOUT 300)
swage_add_test(verify_judge SOURCES test_judge.cpp LINK swage::verify)
swage_add_test(verify_audit SOURCES test_audit.cpp LINK swage::verify)
swage_add_test(verify_judge_program
  SOURCES test_judge_program.cpp
  LINK swage::verify swage::task TIMEOUT 300)
swage_add_test(verify_measure_stand SOURCES test_measure_stand.cpp
               LINK swage::verify)
swage_add_test(verify_measure_process
  SOURCES test_measure_process.cpp test_measure_slot.cpp LINK swage::verify)
swage_add_test(verify_engine SOURCES test_engine.cpp LINK swage::verify)
swage_add_test(verify_corpus SOURCES test_corpus.cpp
               LINK swage::verify TIMEOUT 300)
swage_add_test(verify_kernelbench SOURCES test_kernelbench.cpp
               LINK swage::verify swage::task nlohmann_json::nlohmann_json
               TIMEOUT 600)
foreach(name IN ITEMS measure_process engine corpus kernelbench judge_program)
  add_dependencies(test_verify_${name} swage-worker)
endforeach()

swage_add_test(verify_pool SOURCES test_pool_core.cpp
               LINK swage::verify rapidcheck)
