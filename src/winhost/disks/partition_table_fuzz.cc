// The start and the end of a disk, which whoever attached it has written, with the sums that make it worth reading.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "winhost/disks/partition_table.h"

using namespace porthole::winhost;

namespace {

void put(std::string& text, std::size_t at, std::uint64_t value) {
    for (std::size_t i = 0; i < 4; ++i) text[at + i] = static_cast<char>(value >> (8 * i));
}
/// CRC-32.
std::uint64_t sum_of(const std::string& text, std::size_t at, std::size_t size) {
    std::uint32_t crc = ~0U;
    for (const unsigned char byte : std::string_view(text).substr(at, size)) {
        crc ^= byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320U : 0U);
    }
    return ~crc;
}

/// The header is at `at`, its entries at `entries`.
void mend_sums(std::string& text, std::size_t at, std::size_t entries) {
    const auto count = std::min<std::size_t>(static_cast<unsigned char>(text[at + 80]), 128);
    put(text, at + 88, sum_of(text, entries, count * 128));
    put(text, at + 16, 0);
    put(text, at + 16, sum_of(text, at, 92));
}

void check(const std::string& start, const std::string& end, std::uint64_t bytes) {
    const auto table = parse_partition_table(start, end, bytes);
    if (!table || !*table) return;
    std::vector<Partition> partitions = (*table)->reserved;
    if ((*table)->partition) partitions.push_back(*(*table)->partition);
    for (const Partition& one : partitions)
        if (one.bytes == 0 || one.start > bytes || one.bytes > bytes - one.start) std::abort();
    const auto again = parse_partition_table(partition_table_start(**table, bytes), partition_table_end(**table, bytes), bytes);
    if (!again || *again != *table) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const std::uint64_t bytes = std::max<std::uint64_t>(size, SmallestDisk);
    check(text, text, bytes);
    std::string start = text, end = text;
    start.resize(DiskStart);
    end.resize(TableEnd);
    mend_sums(start, 512, 1024);
    mend_sums(end, TableEnd - 512, 0);
    check(start, end, bytes);
    check("", end, bytes);
    return 0;
}
