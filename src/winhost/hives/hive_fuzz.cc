// A registry hive of an image's layer: whatever it says, it is merged in bounds, and what comes of it is a file of Wine's that holds what
// Wine had. The same bytes are also read as if they were the cells of a hive whose header is right.
#include <cstdint>
#include <cstdlib>

#include "winhost/hives/hive_merge.h"

using namespace porthole::winhost;

namespace {

constexpr const char* Own =
    "WINE REGISTRY Version 2\n\n[Software\\\\Wine] 1\n\"Own\"=\"1\"\n\n[Software\\\\A] 1\n\"Own\"=\"2\"\n\n"
    "[System\\\\CurrentControlSet\\\\Services\\\\A] 1\n\"Own\"=\"3\"\n\n";

void check(const std::string& bytes) {
    const auto hive = parse_hive(bytes, {.depth = 64, .keys = 1000, .values = 1000, .bytes = 1 << 16});
    if (!hive) return;
    HiveMerge merge(*RegistryFile::parse(Own));
    merge.most_bytes = 1 << 18;
    for (const HivePlace place : {HivePlace::Software, HivePlace::System, HivePlace::User}) static_cast<void>(merge.add(place, *hive));
    const auto merged = RegistryFile::parse(merge.text());
    if (!merged || merged->value("Software\\Wine", "Own") != "\"1\"" || merged->value("Software\\A", "Own") != "\"2\"" ||
        merged->value("System\\CurrentControlSet\\Services\\A", "Own") != "\"3\"")
        std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    check(text);
    std::string header(4096, '\0');
    header.replace(0, 4, "regf");
    header[20] = 1;
    header[24] = 5;
    header[36] = 32;
    check(header + text);
    return 0;
}
