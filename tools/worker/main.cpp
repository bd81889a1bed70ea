#include "tools/worker/worker.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "serve") == 0)
    return serve(std::atoi(argv[2]));
  if (argc > 2 && std::strcmp(argv[1], "compile") == 0)
    return compile(argc - 2, argv + 2);
  std::fputs("swage-worker is started by the verifier, not by hand\n", stderr);
  return 2;
}
