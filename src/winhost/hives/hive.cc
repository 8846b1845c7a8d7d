// The layout is that of public descriptions of the format (msuhanov/regf, libregf). What they say of layered keys and of tombstones of
// values was found by their authors in Windows' own files; Microsoft documents neither.
#include "winhost/hives/hive.h"

#include <algorithm>
#include <set>

namespace porthole::winhost {
namespace {

constexpr std::size_t HeaderSize = 4096;  ///< offsets of cells count from its end
constexpr std::uint32_t NoCell = 0xffffffff;
constexpr std::size_t KeyHead = 76, ValueHead = 20;
constexpr std::size_t LongestKeyName = 255, LongestValueName = 16383;  ///< UTF-16 units, as in Windows
/// Larger data is in several cells, each but the last with so much of it.
constexpr std::size_t SegmentSize = 16344;

constexpr std::uint16_t KeyIsLink = 0x10, KeyNameIsLatin = 0x20, ValueNameIsLatin = 0x1, ValueIsTombstone = 0x2;
constexpr std::uint32_t DataIsInPlace = 0x80000000;

Error invalid(const std::string& what) { return Error(Reason::Invalid, "registry hive: " + what); }

/// Little-endian numbers and text in the bytes of a cell. The caller has checked that they are there.
std::uint16_t u16(std::string_view cell, std::size_t at) {
    return static_cast<std::uint16_t>(static_cast<unsigned char>(cell[at]) | static_cast<unsigned char>(cell[at + 1]) << 8U);
}
std::uint32_t u32(std::string_view cell, std::size_t at) { return u16(cell, at) | static_cast<std::uint32_t>(u16(cell, at + 2)) << 16U; }

std::u16string text_of(std::string_view bytes, bool is_latin) {
    std::u16string text;
    if (is_latin) {
        for (const unsigned char byte : bytes) text.push_back(byte);
    } else {
        for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) text.push_back(u16(bytes, i));
    }
    return text;
}

class Reader {
public:
    Reader(std::string_view bytes, const HiveLimits& limits) : bytes_(bytes), limits_(limits) {}

    Result<HiveKey> read() {
        if (bytes_.size() < HeaderSize || !bytes_.starts_with("regf")) return invalid("it does not begin as one");
        const std::uint32_t major = u32(bytes_, 20), minor = u32(bytes_, 24), root = u32(bytes_, 36);
        if (major != 1 || minor < 3 || minor > 6) {
            return invalid("version " + std::to_string(major) + "." + std::to_string(minor) + " is not known");
        }
        cells_ = bytes_.substr(HeaderSize);
        return key(root, 0);
    }

private:
    using Offsets = std::vector<std::uint32_t>;

    /// What the cell holds, at least `least` bytes. Its size is negative while it is in use.
    Result<std::string_view> cell(std::uint32_t at, std::size_t least) const {
        if (at > cells_.size() || cells_.size() - at < 4) return invalid("a cell is outside of it");
        const auto negative = static_cast<std::int32_t>(u32(cells_, at));
        const std::size_t size = 0U - static_cast<std::uint32_t>(negative);
        if (negative >= 0 || size < 4 + least || size > cells_.size() - at) return invalid("a cell has a wrong size");
        return cells_.substr(at + 4, size - 4);
    }

    Result<HiveKey> key(std::uint32_t at, std::size_t depth) {
        if (depth > limits_.depth) return invalid("its keys are nested too deeply");
        if (!seen_.insert(at).second) return invalid("a key is in it twice");
        if (seen_.size() > limits_.keys) return invalid("it has too many keys");
        TRY(const std::string_view node, cell(at, KeyHead));
        if (!node.starts_with("nk")) return invalid("a cell that should be a key is none");
        HiveKey found;
        const std::uint16_t flags = u16(node, 2), name_size = u16(node, 72);
        if (name_size > node.size() - KeyHead) return invalid("the name of a key ends outside of it");
        found.name = text_of(node.substr(KeyHead, name_size), flags & KeyNameIsLatin);
        const bool is_named = !found.name.empty() && found.name.size() <= LongestKeyName &&
                              std::ranges::none_of(found.name, [](char16_t c) { return c == u'\\' || c == 0; });
        if (!is_named && depth > 0) return invalid("a key has an invalid name");
        TRY_VOID(count_bytes(2 * found.name.size()));
        found.is_link = flags & KeyIsLink;
        found.layering = static_cast<HiveKey::Layering>(static_cast<unsigned char>(node[13]) & 3U);
        TRY_VOID(read_values(found, u32(node, 36), u32(node, 40)));
        Offsets children;
        if (u32(node, 20) > 0) TRY_VOID(list_keys(u32(node, 28), true, children));
        for (const std::uint32_t child : children) {
            TRY(HiveKey below, key(child, depth + 1));
            found.keys.push_back(std::move(below));
        }
        return found;
    }

    /// A list of keys, or, at its top only, a list of such lists.
    Result<void> list_keys(std::uint32_t at, bool is_top, Offsets& found) {
        TRY(const std::string_view list, cell(at, 4));
        const std::string_view kind = list.substr(0, 2);
        const bool is_root = kind == "ri", has_hints = kind == "lf" || kind == "lh";
        if (!(is_root && is_top) && !has_hints && kind != "li") return invalid("a list of keys is none");
        const std::size_t count = u16(list, 2), step = has_hints ? 8 : 4;
        if (count == 0 || count * step > list.size() - 4) return invalid("a list of keys has a wrong size");
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t entry = u32(list, 4 + i * step);
            if (is_root) {
                TRY_VOID(list_keys(entry, false, found));
            } else {
                found.push_back(entry);
            }
            if (found.size() > limits_.keys) return invalid("it has too many keys");
        }
        return {};
    }

    Result<void> read_values(HiveKey& key, std::size_t count, std::uint32_t at) {
        if (count == 0) return {};
        values_ += count;
        if (values_ > limits_.values) return invalid("it has too many values");
        TRY(const std::string_view list, cell(at, count * 4));
        for (std::size_t i = 0; i < count; ++i) {
            TRY(HiveValue value, read_value(u32(list, i * 4)));
            key.values.push_back(std::move(value));
        }
        return {};
    }

    Result<HiveValue> read_value(std::uint32_t at) {
        TRY(const std::string_view node, cell(at, ValueHead));
        if (!node.starts_with("vk")) return invalid("a cell that should be a value is none");
        const std::uint16_t flags = u16(node, 16), name_size = u16(node, 2);
        if (name_size > node.size() - ValueHead) return invalid("the name of a value ends outside of it");
        HiveValue value{.name = text_of(node.substr(ValueHead, name_size), flags & ValueNameIsLatin),
                        .type = u32(node, 12),
                        .is_tombstone = (flags & ValueIsTombstone) != 0};
        if (value.name.size() > LongestValueName) return invalid("a value has an invalid name");
        TRY_VOID(count_bytes(2 * value.name.size()));
        if (value.is_tombstone) return value;
        const std::uint32_t size = u32(node, 4);
        if (size & DataIsInPlace) {
            if ((size & ~DataIsInPlace) > 4) return invalid("a value has more data in it than it can have");
            value.data = node.substr(8, size & ~DataIsInPlace);
            return value;
        }
        TRY_VOID(count_bytes(size));
        if (size == 0) return value;
        TRY(value.data, read_data(u32(node, 8), size));
        return value;
    }

    Result<std::string> read_data(std::uint32_t at, std::size_t size) const {
        if (at == NoCell) return invalid("a value has no data");
        TRY(const std::string_view first, cell(at, 0));
        if (size <= SegmentSize || !first.starts_with("db")) {
            if (first.size() < size) return invalid("the data of a value ends outside of it");
            return std::string(first.substr(0, size));
        }
        if (first.size() < 8) return invalid("large data has no list");
        const std::size_t count = u16(first, 2);
        TRY(const std::string_view list, cell(u32(first, 4), count * 4));
        std::string data;
        for (std::size_t i = 0; i < count && data.size() < size; ++i) {
            const std::size_t part = std::min(SegmentSize, size - data.size());
            TRY(const std::string_view segment, cell(u32(list, i * 4), part));
            data += segment.substr(0, part);
        }
        if (data.size() < size) return invalid("the data of a value is incomplete");
        return data;
    }

    /// Many values may have their name and data in the same cell.
    Result<void> count_bytes(std::size_t size) {
        held_ += size;
        return held_ <= limits_.bytes ? Result<void>() : invalid("its names and values are too large");
    }

    std::string_view bytes_, cells_;
    HiveLimits limits_;
    std::set<std::uint32_t> seen_;  ///< the keys read so far
    std::size_t values_ = 0, held_ = 0;
};

}  // namespace

Result<HiveKey> parse_hive(std::string_view bytes, const HiveLimits& limits) { return Reader(bytes, limits).read(); }

}  // namespace porthole::winhost
