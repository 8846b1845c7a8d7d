// How many manifests `porthole lint` checks and mends in a second, without reading files.
#include <chrono>
#include <cstdio>

#include "windows/lint/corpus_fixture.h"
#include "windows/lint/fix.h"

namespace {

using namespace porthole::windows::lint;

template <class Work>
void measure(const char* name, const std::vector<corpus::Manifest>& manifests, Work work) {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    std::size_t done = 0, bytes = 0;
    while (Clock::now() - began < std::chrono::seconds(2)) {
        for (const corpus::Manifest& one : manifests) {
            work(one.text);
            bytes += one.text.size();
        }
        done += manifests.size();
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    std::printf("%-28s %8.0f manifests/s  %5.1f MB/s\n", name, static_cast<double>(done) / seconds,
                static_cast<double>(bytes) / seconds / 1e6);
}

}  // namespace

int main() {
    measure("check what works", corpus::manifests(), [](const std::string& text) { (void)check(text); });
    measure("check what does not", corpus::faulty_manifests(), [](const std::string& text) { (void)check(text); });
    measure("fix what does not", corpus::faulty_manifests(), [](const std::string& text) { (void)fix(text); });
}
