// Every fuzz target reads its seeds, and some changes of each, as an ordinary test: what libFuzzer has found stays found, and all targets
// compile. PORTHOLE_FUZZ_CHANGES says how many changes, PORTHOLE_SEED which.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "runtime/random.h"

#define FUZZ_TARGET(name) extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
#include "fuzz_targets.def"
#undef FUZZ_TARGET

namespace porthole {
namespace {

namespace fs = std::filesystem;

struct Target {
    const char* name;
    int (*run)(const std::uint8_t* data, std::size_t size);
};

constexpr Target Targets[] = {
#define FUZZ_TARGET(name) {#name, fuzz_##name},
#include "fuzz_targets.def"
#undef FUZZ_TARGET
};

const fs::path Corpus = fs::path(__FILE__).parent_path() / "corpus";

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// A few bytes replaced, removed, added or doubled.
std::string changed(std::string text, Random& random) {
    for (std::uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
        const std::size_t at = random.below(text.size() + 1), count = random.below(std::min<std::size_t>(text.size() - at, 8) + 1);
        switch (random.below(5)) {
            case 0:
                text.erase(at, count);
                break;
            case 1:
                text.insert(at, random.bytes(1 + random.below(4)));
                break;
            case 2:
                text.insert(random.below(text.size() + 1), text.substr(at, count));
                break;
            case 3:
                if (at < text.size()) text[at] = static_cast<char>(text[at] ^ 1 << random.below(8));
                break;
            default:
                if (at < text.size()) text[at] = "09-.,:/\\{}[]\"' \n%"[random.below(18)];
        }
    }
    return text;
}

// What a target was fed when it ended the process, for the file that is then left.
const std::string* fed = nullptr;
const char* fed_to = nullptr;

void keep_input(int signal) {
    constexpr const char* Path = "/tmp/fuzz_replay_input";
    const int file = ::open(Path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file >= 0 && fed && ::write(file, fed->data(), fed->size()) >= 0) {
        for (const char* text : {"fuzz_replay_test: ", fed_to, " ended the process; its input is in ", Path, "\n"}) {
            if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
        }
    }
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

class FuzzSeeds : public testing::TestWithParam<Target> {
protected:
    void SetUp() override {
        fed_to = GetParam().name;
        for (const int signal : {SIGABRT, SIGSEGV, SIGILL, SIGTRAP, SIGFPE}) ::signal(signal, keep_input);
    }
    /// On a copy of just its length, so that a sanitizer sees what is read beyond it.
    static void feed(const std::string& input) {
        fed = &input;
        std::vector<std::uint8_t> bytes(input.begin(), input.end());
        bytes.reserve(1);  // as libFuzzer, which never gives a null pointer
        GetParam().run(bytes.data(), bytes.size());
    }
};

TEST_P(FuzzSeeds, AreRead) {
    const std::uint64_t changes = number_from("PORTHOLE_FUZZ_CHANGES", 10);
    SeededRandom random(number_from("PORTHOLE_SEED", 1));
    feed("");
    std::set<fs::path> seeds;
    if (fs::is_directory(Corpus / GetParam().name)) {
        for (const auto& entry : fs::directory_iterator(Corpus / GetParam().name)) seeds.insert(entry.path());
    }
    EXPECT_FALSE(seeds.empty()) << "tests/fuzz/corpus/" << GetParam().name << " has no seeds";
    for (const fs::path& path : seeds) {
        std::ifstream file(path, std::ios::binary);
        const std::string seed{std::istreambuf_iterator<char>(file), {}};
        feed(seed);
        feed(seed.substr(0, seed.size() / 2));
        for (std::uint64_t i = 0; i < changes; ++i) feed(changed(seed, random));
    }
}

/// libFuzzer's inputs have some 4 KiB, which is too little to exhaust a stack or to show time that grows with the square of the size.
TEST_P(FuzzSeeds, RepeatedThousandsOfTimesAreRead) {
    const std::size_t size = number_from("PORTHOLE_FUZZ_LENGTH", 32 << 10);
    for (const std::string unit : {"[", "{\"a\":", "(", "!", "-", "- ", "{{if .a}}", "'", ",", "a.", "a=b,", "\n", "\xFF"}) {
        std::string input;
        while (input.size() < size) input += unit;
        feed(input);
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzSeeds, testing::ValuesIn(Targets), [](const auto& info) { return std::string(info.param.name); });

TEST(FuzzCorpus, BelongsToTargets) {
    for (const auto& entry : fs::directory_iterator(Corpus)) {
        const auto known = [&](const Target& target) { return entry.path().filename() == target.name; };
        EXPECT_TRUE(std::ranges::any_of(Targets, known)) << entry.path() << " has no target";
    }
}

}  // namespace
}  // namespace porthole
