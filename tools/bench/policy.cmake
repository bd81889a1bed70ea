if(SWAGE_WITH_TORCH)
  swage_add_program(bench-decode
    SOURCES "${CMAKE_CURRENT_LIST_DIR}/decode.cpp"
    LINK swage::torch nlohmann_json::nlohmann_json)
endif()
