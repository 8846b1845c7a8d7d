#include "winhost/template/error_texts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "winhost/template/pe_bytes.h"

namespace porthole::winhost {
namespace {

struct ErrorText {
    std::uint32_t code;
    std::string_view text;
};
constexpr ErrorText Texts[] = {
    {1, "Incorrect function."},
    {2, "The system cannot find the file specified."},
    {3, "The system cannot find the path specified."},
    {4, "The system cannot open the file."},
    {5, "Access is denied."},
    {6, "The handle is invalid."},
    {15, "The system cannot find the drive specified."},
    {32, "The process cannot access the file because it is being used by another process."},
    {80, "The file exists."},
    {87, "The parameter is incorrect."},
    {109, "The pipe has been ended."},
    {112, "There is not enough space on the disk."},
    {123, "The filename, directory name, or volume label syntax is incorrect."},
    {126, "The specified module could not be found."},
    {127, "The specified procedure could not be found."},
    {145, "The directory is not empty."},
    {183, "Cannot create a file when that file already exists."},
    {193, "%1 is not a valid Win32 application."},
    {231, "All pipe instances are busy."},
    {232, "The pipe is being closed."},
    {267, "The directory name is invalid."},
    {1056, "An instance of the service is already running."},
    {1060, "The specified service does not exist as an installed service."},
    {1062, "The service has not been started."},
    {1314, "A required privilege is not held by the client."},
    {1326, "The user name or password is incorrect."},
    {1332, "No mapping between account names and security IDs was done."},
    {1455, "The paging file is too small for this operation to complete."},
    {10061, "No connection could be made because the target machine actively refused it."},
};

constexpr std::size_t ResourceDirectoryAt = 112 + 2 * 8;  // in the optional header of 64 bits
constexpr std::uint32_t IsFolder = 0x80000000;
constexpr std::array<std::uint32_t, 3> EnglishMessages{11, 1, 0x409};  // type, name, language
constexpr std::size_t BlockSize = 12, FolderHeaderSize = 16, FolderEntrySize = 8, MessageHeaderSize = 4;
constexpr std::uint16_t Utf16 = 1;
constexpr std::uint32_t ReadOnlyData = 0x40000040;

/// Where the parts of a file are in it.
class Layout {
public:
    explicit Layout(const std::string& image) : image_(image), header_(get<std::uint32_t>(image, HeaderOffsetAt)) {}

    std::size_t header() const { return header_; }
    std::size_t optional() const { return header_ + FileHeaderSize; }
    std::size_t section(std::size_t index) const {
        return optional() + get<std::uint16_t>(image_, header_ + 20) + index * SectionHeaderSize;
    }
    std::uint16_t sections() const { return get<std::uint16_t>(image_, header_ + 6); }

    /// Of an address; nullopt where no section has it.
    std::optional<std::size_t> offset(std::uint32_t address) const {
        for (std::size_t i = 0; i < sections(); ++i) {
            const auto start = get<std::uint32_t>(image_, section(i) + 12), size = get<std::uint32_t>(image_, section(i) + 16);
            if (address >= start && address - start < size) return get<std::uint32_t>(image_, section(i) + 20) + (address - start);
        }
        return std::nullopt;
    }

    /// Of the entry that tells where the English messages are, by address and size.
    std::optional<std::size_t> message_entry() const {
        const auto base = offset(get<std::uint32_t>(image_, optional() + ResourceDirectoryAt));
        std::uint32_t place = IsFolder;
        for (const std::uint32_t id : EnglishMessages) {
            const auto next = base && place & IsFolder ? child(*base + (place & ~IsFolder), id) : std::nullopt;
            if (!next) return std::nullopt;
            place = *next;
        }
        const std::size_t entry = *base + place;
        return place & IsFolder || entry + 8 > image_.size() ? std::nullopt : std::optional(entry);
    }

    /// Whether a section can be added: behind the last header there is room for another.
    bool has_room() const {
        const std::size_t place = section(sections()), end = place + SectionHeaderSize;
        return end <= get<std::uint32_t>(image_, optional() + 60) && end <= image_.size() && image_.find_first_not_of('\0', place) >= end;
    }

private:
    std::optional<std::uint32_t> child(std::size_t folder, std::uint32_t id) const {
        const std::size_t names = get<std::uint16_t>(image_, folder + 12), ids = get<std::uint16_t>(image_, folder + 14);
        for (std::size_t i = names; i < names + ids; ++i) {
            const std::size_t entry = folder + FolderHeaderSize + i * FolderEntrySize;
            if (get<std::uint32_t>(image_, entry) == id) return get<std::uint32_t>(image_, entry + 4);
        }
        return std::nullopt;
    }

    const std::string& image_;
    std::size_t header_;
};

std::string message(std::string_view text) {
    std::string made(MessageHeaderSize, '\0');
    for (const char letter : text) made.append({letter, '\0'});
    made.append(std::string_view("\n\0\0\0", 4));
    made.resize(round_up(static_cast<std::uint32_t>(made.size()), 4));
    put(made, 0, static_cast<std::uint16_t>(made.size()));
    put(made, 2, Utf16);
    return made;
}

/// A message table with the texts that differ; nullopt for one that contradicts itself. It begins with the number of blocks; each block is
/// the codes of the first and of the last of its messages, which follow each other, and the place of the first.
std::optional<std::string> reworded(std::string_view table) {
    const std::size_t blocks = get<std::uint32_t>(table, 0), messages = 4 + blocks * BlockSize;
    if (messages > table.size()) return std::nullopt;
    std::string made(table.substr(0, messages));
    std::size_t end = messages;  // of what has been read
    for (std::size_t block = 4; block < messages; block += BlockSize) {
        const std::uint64_t first = get<std::uint32_t>(table, block), last = get<std::uint32_t>(table, block + 4);
        std::size_t place = get<std::uint32_t>(table, block + 8);
        if (place < end) return std::nullopt;
        put(made, block + 8, static_cast<std::uint32_t>(made.size()));
        for (std::uint64_t code = first; code <= last; ++code) {
            const std::size_t length = get<std::uint16_t>(table, place);
            if (length < MessageHeaderSize || length > table.size() - place) return std::nullopt;
            const auto* const text = std::ranges::find(Texts, code, &ErrorText::code);
            made += text == std::end(Texts) ? std::string(table.substr(place, length)) : message(text->text);
            place += length;
        }
        end = place;
    }
    return made;
}

}  // namespace

bool use_windows_error_texts(std::string& image) {
    const Layout layout(image);
    const auto entry = layout.message_entry();
    if (!entry || !layout.has_room()) return false;
    const auto place = layout.offset(get<std::uint32_t>(image, *entry));
    const auto size = get<std::uint32_t>(image, *entry + 4);
    if (!place || *place > image.size() || size > image.size() - *place) return false;
    const auto table = reworded(std::string_view(image).substr(*place, size));
    if (!table) return false;

    const std::size_t optional = layout.optional(), section = layout.section(layout.sections());
    const auto in_memory = get<std::uint32_t>(image, optional + 32), in_file = get<std::uint32_t>(image, optional + 36);
    if (std::max(in_memory, in_file) > LargestAlignment) return false;
    const auto address = round_up(get<std::uint32_t>(image, optional + 56), in_memory);
    const auto length = static_cast<std::uint32_t>(table->size());
    put(image, *entry, address);
    put(image, *entry + 4, length);
    put(image, layout.header() + 6, static_cast<std::uint16_t>(layout.sections() + 1));
    put(image, optional + 56, address + round_up(length, in_memory));
    image.replace(section, 7, ".errors");
    put(image, section + 8, length);
    put(image, section + 12, address);
    put(image, section + 16, round_up(length, in_file));
    put(image, section + 20, round_up(static_cast<std::uint32_t>(image.size()), in_file));
    put(image, section + 36, ReadOnlyData);
    image.resize(get<std::uint32_t>(image, section + 20));
    image += *table;
    image.resize(round_up(static_cast<std::uint32_t>(image.size()), in_file));
    return true;
}

}  // namespace porthole::winhost
