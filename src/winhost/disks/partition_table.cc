#include "winhost/disks/partition_table.h"

#include <algorithm>
#include <array>

namespace porthole::winhost {
namespace {

constexpr std::uint64_t Sector = 512, Entries = 128, EntrySize = 128, EntrySectors = Entries * EntrySize / Sector;
constexpr std::size_t EntryName = 56;  // the rest of an entry
constexpr std::uint64_t HeaderSize = 92, FirstUsable = 2 + EntrySectors, Alignment = 1 << 20;
constexpr std::string_view Signature = "EFI PART";
constexpr const char* BasicData = "ebd0a0a2-b9e5-4433-87c0-68b6b72699c7";
constexpr const char* Reserved = "e3c9e316-0b5c-4db8-817d-f92df00215ae";
constexpr const char* Unused = "00000000-0000-0000-0000-000000000000";

std::uint64_t end_of(const Partition& partition) { return partition.start + partition.bytes; }
/// Of what partitions can have of a disk.
std::uint64_t usable_end(std::uint64_t bytes) { return bytes / Sector * Sector - TableEnd; }
bool overlap(const Partition& one, const Partition& other) { return one.start < end_of(other) && other.start < end_of(one); }

std::uint32_t crc32(std::string_view text) {
    std::uint32_t crc = ~0U;
    for (const unsigned char byte : text) {
        crc ^= byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320U : 0U);
    }
    return ~crc;
}

void put(std::string& text, std::size_t at, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) text[at + i] = static_cast<char>(value >> (8 * i));
}
std::uint64_t get(std::string_view text, std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{static_cast<unsigned char>(text[at + i])} << (8 * i);
    return value;
}

/// The place of each byte of a GUID's text on the disk: the first three groups are little-endian.
constexpr std::array<std::size_t, 16> GuidOrder = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

void put_guid(std::string& text, std::size_t at, std::string_view guid) {
    std::string digits(guid);
    std::erase(digits, '-');
    for (std::size_t i = 0; i < GuidOrder.size(); ++i)
        text[at + GuidOrder[i]] = static_cast<char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
}
std::string get_guid(std::string_view text, std::size_t at) {
    constexpr const char* Digits = "0123456789abcdef";
    std::string guid;
    for (std::size_t i = 0; i < GuidOrder.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) guid += '-';
        const auto byte = static_cast<unsigned char>(text[at + GuidOrder[i]]);
        guid += {Digits[byte >> 4], Digits[byte & 15]};
    }
    return guid;
}

std::string entry_of(const Partition& partition, const char* type) {
    std::string entry(EntrySize, '\0');
    put_guid(entry, 0, type);
    put_guid(entry, 16, partition.id);
    put(entry, 32, partition.start / Sector, 8);
    put(entry, 40, end_of(partition) / Sector - 1, 8);
    put(entry, 48, partition.attributes, 8);
    entry.replace(EntryName, std::min(partition.name.size(), LongestPartitionName), partition.name, 0, LongestPartitionName);
    return entry;
}
std::string entries_of(const PartitionTable& table) {
    std::string entries;
    for (const Partition& one : table.reserved) entries += entry_of(one, Reserved);
    if (table.partition) entries += entry_of(*table.partition, BasicData);
    entries.resize(Entries * EntrySize, '\0');
    return entries;
}

std::string header_of(const std::string& entries, const std::string& disk_id, std::uint64_t bytes, bool second) {
    const std::uint64_t last = bytes / Sector - 1, own = second ? last : 1;
    std::string header(Sector, '\0');
    std::ranges::copy(Signature, header.begin());
    put(header, 8, 0x00010000, 4);  // version 1.0
    put(header, 12, HeaderSize, 4);
    put(header, 24, own, 8);
    put(header, 32, second ? 1 : last, 8);
    put(header, 40, FirstUsable, 8);
    put(header, 48, last - FirstUsable + 1, 8);
    put_guid(header, 56, disk_id);
    put(header, 72, second ? last - EntrySectors : 2, 8);
    put(header, 80, Entries, 4);
    put(header, 84, EntrySize, 4);
    put(header, 88, crc32(entries), 4);
    put(header, 16, crc32(std::string_view(header).substr(0, HeaderSize)), 4);
    return header;
}

/// A record of older systems that says: all is taken.
std::string protective_record(std::uint64_t bytes) {
    std::string record(Sector, '\0');
    put(record, 446 + 2, 0x000200, 3);
    put(record, 446 + 4, 0xee, 1);
    put(record, 446 + 5, 0xffffff, 3);
    put(record, 446 + 8, 1, 4);
    put(record, 446 + 12, std::min<std::uint64_t>(bytes / Sector - 1, UINT32_MAX), 4);
    put(record, 510, 0xaa55, 2);
    return record;
}

struct Copy {
    std::string disk_id;
    std::string_view entries;
    std::uint64_t entry_size = 0;
};

/// `piece` is at byte `offset` of the disk, and the header at byte `at` of the piece. Nullopt for what is none, or is damaged.
std::optional<Copy> parse_copy(std::string_view piece, std::uint64_t offset, std::size_t at) {
    if (piece.size() < at + Sector || piece.substr(at, Signature.size()) != Signature) return std::nullopt;
    std::string header(piece.substr(at, HeaderSize));
    const std::uint64_t sum = get(header, 16, 4);
    put(header, 16, 0, 4);
    if (get(header, 12, 4) != HeaderSize || crc32(header) != sum) return std::nullopt;
    const std::uint64_t sector = get(header, 72, 8), count = get(header, 80, 4), size = get(header, 84, 4);
    if (count == 0 || count > Entries || size != EntrySize) return std::nullopt;
    if (sector > UINT32_MAX * Sector || sector * Sector < offset) return std::nullopt;
    const std::uint64_t place = sector * Sector - offset;
    if (place > piece.size() || piece.size() - place < count * size) return std::nullopt;
    const std::string_view entries = piece.substr(place, count * size);
    if (crc32(entries) != get(header, 88, 4)) return std::nullopt;
    return Copy{get_guid(header, 56), entries, size};
}

Result<Partition> parse_entry(std::string_view entry, std::uint64_t bytes) {
    const std::uint64_t first = get(entry, 32, 8), last = get(entry, 40, 8), sectors = bytes / Sector;
    if (first < FirstUsable || last < first || last >= sectors) return Error(Reason::Invalid, "a partition is not on its disk");
    return Partition{.id = get_guid(entry, 16),
                     .start = first * Sector,
                     .bytes = (last - first + 1) * Sector,
                     .attributes = get(entry, 48, 8),
                     .name = std::string(entry.substr(EntryName))};
}

}  // namespace

Partition whole_disk(std::string id, const std::vector<Partition>& reserved, std::uint64_t bytes) {
    std::uint64_t start = Alignment;
    for (const Partition& one : reserved) start = std::max(start, (end_of(one) + Alignment - 1) / Alignment * Alignment);
    const std::uint64_t end = usable_end(bytes);
    return {.id = std::move(id), .start = start, .bytes = end > start ? end - start : 0};
}

std::uint64_t end_of_room(const PartitionTable& table, std::uint64_t bytes) {
    std::uint64_t end = usable_end(bytes);
    for (const Partition& one : table.reserved)
        if (one.start > table.partition->start) end = std::min(end, one.start);
    return end;
}

std::string partition_table_start(const PartitionTable& table, std::uint64_t bytes) {
    const std::string entries = entries_of(table);
    return protective_record(bytes) + header_of(entries, table.disk_id, bytes, false) + entries;
}

std::string partition_table_end(const PartitionTable& table, std::uint64_t bytes) {
    const std::string entries = entries_of(table);
    return entries + header_of(entries, table.disk_id, bytes, true);
}

Result<std::optional<PartitionTable>> parse_partition_table(std::string_view start, std::string_view end, std::uint64_t bytes) {
    bytes -= bytes % Sector;
    auto copy = parse_copy(start, 0, Sector);
    if (!copy && bytes >= TableEnd && end.size() == TableEnd) copy = parse_copy(end, bytes - TableEnd, TableEnd - Sector);
    if (!copy) return std::optional<PartitionTable>();
    PartitionTable table{.disk_id = copy->disk_id};
    for (std::size_t at = 0; at < copy->entries.size(); at += copy->entry_size) {
        const std::string_view entry = copy->entries.substr(at, copy->entry_size);
        const std::string type = get_guid(entry, 0);
        if (type == Unused) continue;
        TRY(Partition partition, parse_entry(entry, bytes));
        if (type == Reserved) {
            table.reserved.push_back(std::move(partition));
            continue;
        }
        if (table.partition) return Error(Reason::Invalid, "a disk with several partitions is not supported on this host");
        table.partition = std::move(partition);
    }
    for (const Partition& one : table.reserved)
        if (table.partition && overlap(one, *table.partition)) return Error(Reason::Invalid, "the partitions of a disk overlap");
    return std::optional(std::move(table));
}

}  // namespace porthole::winhost
