# Tests of the untrusted half: text, compiler, sandbox.
swage_add_test(verify_text
  SOURCES test_extract.cpp test_screen.cpp
          test_case_layout.cpp test_build_cache.cpp test_diagnostics.cpp
  LINK swage::verify rapidcheck)
swage_add_test(verify_untrusted
  SOURCES test_build.cpp test_sandbox.cpp test_sandbox_faults.cpp
          test_runner.cpp test_no_namespaces.cpp candidate_fixture.cpp
  LINK swage::verify)
add_dependencies(test_verify_untrusted swage-worker)
