#include "winhost/images/layers/tar_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace porthole::winhost {
namespace {

/// Long names and PAX records are held in memory: of all those before one entry.
constexpr std::uint64_t MetadataLimit = 1 << 20;
constexpr std::uint64_t ContentLimit = std::uint64_t{1} << 43;

struct Field {
    std::size_t at, size;
};
constexpr Field Name{0, 100}, Size{124, 12}, Modified{136, 12}, Checksum{148, 8}, LinkName{157, 100}, Magic{257, 6}, Prefix{345, 155};
constexpr std::size_t TypeAt = 156;

Error invalid_tar(const std::string& what) { return Error(Reason::Invalid, "tar: " + what); }

template <std::size_t N>
std::string_view field(const std::array<char, N>& block, Field field) {
    return {block.data() + field.at, field.size};
}

std::string_view until_nul(std::string_view text) { return text.substr(0, text.find('\0')); }

/// Octal digits, or GNU's base 256 with the top bit set.
Result<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    if (static_cast<unsigned char>(text.front()) & 0x80U) {
        for (std::size_t i = 0; i < text.size(); ++i) {
            const auto byte = static_cast<unsigned char>(text[i]) & (i == 0 ? 0x7fU : 0xffU);
            if (value >> 55U) return invalid_tar("a number is too large");
            value = value << 8U | byte;
        }
        return value;
    }
    text = until_nul(text);
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    if (text.empty()) return value;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
    if (error != std::errc() || end != text.data() + text.size()) return invalid_tar("a header has an invalid number");
    return value;
}

template <std::size_t N>
bool checksum_fits(const std::array<char, N>& block) {
    const auto stated = number(field(block, Checksum));
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < N; ++i) {
        const bool in_field = i >= Checksum.at && i < Checksum.at + Checksum.size;
        sum += in_field ? ' ' : static_cast<unsigned char>(block[i]);
    }
    return stated && *stated == sum;
}

/// "1446812345.25"
std::timespec parse_time(std::string_view text) {
    std::timespec time{};
    const char* const end = text.data() + text.size();
    const auto [point, error] = std::from_chars(text.data(), end, time.tv_sec);
    if (error != std::errc()) return {};
    if (point != end && *point == '.') {
        std::string digits(point + 1, end);
        digits.resize(9, '0');
        long nanoseconds = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), nanoseconds);
        if (nanoseconds >= 0) time.tv_nsec = nanoseconds;
    }
    return time;
}

TarEntry::Type type_of(char flag) {
    switch (flag) {
        case '\0':
        case '0':
        case '7':
            return TarEntry::Type::File;
        case '1':
            return TarEntry::Type::HardLink;
        case '2':
            return TarEntry::Type::SymbolicLink;
        case '5':
            return TarEntry::Type::Folder;
        default:
            return TarEntry::Type::Other;
    }
}

}  // namespace

Result<bool> TarReader::read_block(Block& block) {
    std::size_t filled = 0;
    while (filled < block.size()) {
        TRY(const std::size_t count, source_.read(std::span(block).subspan(filled)));
        if (count == 0) break;
        filled += count;
    }
    position_ += filled;
    if (filled == 0) return false;
    if (filled < block.size()) return invalid_tar("cut off");
    return true;
}

Result<void> TarReader::skip_rest() {
    std::array<char, 16 << 10> buffer;
    left_ += std::exchange(padding_, 0);
    while (left_ > 0) TRY_VOID(read(buffer));
    return {};
}

Result<std::size_t> TarReader::read(std::span<char> buffer) {
    const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), left_);
    if (wanted == 0) return std::size_t{0};
    TRY(const std::size_t count, source_.read(buffer.first(wanted)));
    if (count == 0) return invalid_tar("cut off");
    left_ -= count;
    position_ += count;
    return count;
}

Result<std::string> TarReader::read_text(std::uint64_t size) {
    if (size > MetadataLimit) return invalid_tar("a name or record is too long");
    std::string text(size, '\0');
    std::size_t filled = 0;
    left_ = size;
    while (left_ > 0) {
        TRY(const std::size_t count, read(std::span(text).subspan(filled)));
        filled += count;
    }
    TRY_VOID(skip_rest());
    return text;
}

/// Lines "LENGTH KEY=VALUE\n", LENGTH counting the whole line.
Result<TarReader::Records> TarReader::read_records(std::uint64_t size) {
    TRY(const std::string text, read_text(size));
    Records records;
    for (std::string_view rest = text; !rest.empty() && rest.front() != '\0';) {
        std::size_t length = 0;
        const auto [blank, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
        const std::size_t digits = static_cast<std::size_t>(blank - rest.data());
        if (error != std::errc() || length > rest.size() || length < digits + 2 || rest[digits] != ' ' || rest[length - 1] != '\n')
            return invalid_tar("invalid PAX record");
        const std::string_view record = rest.substr(digits + 1, length - digits - 2);
        const std::size_t equals = record.find('=');
        if (equals == std::string_view::npos) return invalid_tar("invalid PAX record");
        records[std::string(record.substr(0, equals))] = record.substr(equals + 1);
        rest.remove_prefix(length);
    }
    return records;
}

Result<TarEntry> TarReader::make_entry(const Block& block, std::uint64_t size, const Records& records) {
    TarEntry entry{.type = type_of(block[TypeAt]), .link_name = std::string(until_nul(field(block, LinkName)))};
    entry.name = until_nul(field(block, Name));
    const std::string_view prefix = until_nul(field(block, Prefix));
    if (field(block, Magic) == std::string_view("ustar\0", 6) && !prefix.empty()) entry.name = std::string(prefix) + "/" + entry.name;
    TRY(const std::uint64_t seconds, number(field(block, Modified)));
    entry.modified.tv_sec = static_cast<std::time_t>(seconds);
    for (const auto& [key, value] : records) {
        if (key == "path") entry.name = value;
        if (key == "linkpath") entry.link_name = value;
        if (key == "mtime") entry.modified = parse_time(value);
        if (key.starts_with("GNU.sparse.")) return invalid_tar("sparse files are not supported: " + entry.name);
        if (key == "size") {
            const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
            if (error != std::errc() || end != value.data() + value.size()) return invalid_tar("a broken size");
        }
    }
    if (entry.name.contains('\0') || entry.link_name.contains('\0')) return invalid_tar("a name with a zero byte");
    if (size > ContentLimit) return invalid_tar("an entry is too large: " + entry.name);
    if (block[TypeAt] == 'S') return invalid_tar("sparse files are not supported: " + entry.name);
    if (entry.type == TarEntry::Type::File && entry.name.ends_with('/')) entry.type = TarEntry::Type::Folder;
    // A hard link may state its target's size without having content.
    const bool has_content = entry.type == TarEntry::Type::File || entry.type == TarEntry::Type::Other;
    if (has_content) entry.size = size;
    entry.offset = position_;
    left_ = has_content ? size : 0;
    padding_ = (BlockSize - left_ % BlockSize) % BlockSize;
    return entry;
}

Result<std::optional<TarEntry>> TarReader::next() {
    TRY_VOID(skip_rest());
    Records records;
    std::uint64_t metadata = 0;
    for (Block block;;) {
        TRY(const bool more, read_block(block));
        if (!more || std::ranges::all_of(block, [](char c) { return c == '\0'; })) return std::optional<TarEntry>();
        if (!checksum_fits(block)) return invalid_tar("not a tar file, or a broken one (checksum)");
        TRY(const std::uint64_t size, number(field(block, Size)));
        const char type = block[TypeAt];
        padding_ = (BlockSize - size % BlockSize) % BlockSize;
        if (type == 'x' || type == 'L' || type == 'K') {
            metadata += std::min(size, MetadataLimit);
            if (metadata > MetadataLimit) return invalid_tar("too many names or records before an entry");
        }
        if (type == 'x') {
            TRY(auto found, read_records(size));
            found.merge(records);
            records = std::move(found);
        } else if (type == 'g') {
            TRY_VOID(read_text(size));
        } else if (type == 'L' || type == 'K') {
            TRY(const std::string name, read_text(size));
            records[type == 'L' ? "path" : "linkpath"] = until_nul(name);
        } else {
            TRY(auto entry, make_entry(block, size, records));
            return std::optional(std::move(entry));
        }
    }
}

}  // namespace porthole::winhost
