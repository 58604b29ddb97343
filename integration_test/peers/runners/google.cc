// Times Google's parser, as runner.go.txt times parsers in Go.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "robots.h"

int main(int argc, char** argv) {
  const double at_least = atof(argv[1]);
  const std::string url = argv[2];
  std::vector<std::string> bodies;
  for (int i = 3; i < argc; i++) {
    std::ifstream in(argv[i], std::ios::binary);
    bodies.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  volatile bool allowed = false;
  for (long n = 1;; n *= 2) {
    const auto start = std::chrono::steady_clock::now();
    for (long i = 0; i < n; i++) {
      for (const std::string& body : bodies) {
        googlebot::RobotsMatcher matcher;
        allowed = matcher.OneAgentAllowedByRobots(body, "ExampleBot", url);
      }
    }
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
    if (elapsed.count() >= at_least) {
      printf("%f\n", elapsed.count() / n);
      return allowed ? 0 : 0;
    }
  }
}
