#include "winhost/template/pe_exports.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "winhost/template/pe_bytes.h"

namespace porthole::winhost {
namespace {

constexpr std::size_t DirectorySize = 40;
constexpr std::size_t MostExports = 0xF000;  // ordinals have 16 bits
constexpr std::size_t LongestName = 256;
constexpr std::uint32_t ReadableData = 0x40000040;
constexpr std::string_view OwnPrefix = "wine_";

std::uint32_t aligned(std::size_t value, std::uint32_t step) { return static_cast<std::uint32_t>((value + step - 1) / step * step); }

/// The numbers of a file, by their offset. Reads beyond the end give 0, and contradict what is read elsewhere.
class Bytes {
public:
    explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}

    template <class T>
    T get(std::size_t at) const {
        return winhost::get<T>(bytes_, at);
    }
    template <class T>
    void put(std::size_t at, T value) {
        if (bytes_.size() < at + sizeof value) bytes_.resize(at + sizeof value);
        winhost::put(bytes_, at, value);
    }
    std::string& text() { return bytes_; }
    const std::string& text() const { return bytes_; }

private:
    std::string bytes_;
};

/// Where the headers are.
class Image {
public:
    explicit Image(std::string bytes) : file(std::move(bytes)) {}

    Bytes file;

    bool is_one() const {
        return file.text().starts_with("MZ") && file.get<std::uint32_t>(header()) == 0x4550 &&
               file.get<std::uint16_t>(optional()) == 0x20B && file.get<std::uint32_t>(optional() + 108) > 0 && sections() < MostSections;
    }
    std::size_t header() const { return file.get<std::uint32_t>(HeaderOffsetAt); }
    std::size_t optional() const { return header() + 24; }
    std::size_t size_of_image() const { return optional() + 56; }
    std::size_t export_directory() const { return optional() + 112; }
    std::uint16_t sections() const { return file.get<std::uint16_t>(header() + 6); }
    std::size_t section(std::size_t number) const {
        return optional() + file.get<std::uint16_t>(header() + 20) + number * SectionHeaderSize;
    }

    std::uint32_t alignment_in_memory() const { return std::clamp(file.get<std::uint32_t>(optional() + 32), 1u, LargestAlignment); }
    std::uint32_t alignment_in_file() const { return std::clamp(file.get<std::uint32_t>(optional() + 36), 1u, LargestAlignment); }

    /// Where in the file this address lies when the image is loaded.
    std::optional<std::size_t> offset_of(std::uint32_t address) const {
        for (std::size_t i = 0; i < sections(); ++i) {
            const auto size = file.get<std::uint32_t>(section(i) + 16), begin = file.get<std::uint32_t>(section(i) + 12);
            if (address >= begin && address - begin < size)
                return std::size_t{file.get<std::uint32_t>(section(i) + 20)} + (address - begin);
        }
        return std::nullopt;
    }
    std::string text_at(std::uint32_t address) const {
        const auto at = offset_of(address);
        if (!at || *at >= file.text().size()) return "";
        const std::string text = file.text().substr(*at, LongestName);
        return text.substr(0, text.find('\0'));
    }

    /// Adds a section that holds `content`, made for the address `next_address()`. False where its header does not fit.
    bool append_section(std::string_view name, std::string_view content) {
        const std::size_t at = section(sections());
        const std::size_t headers = std::min<std::size_t>(file.get<std::uint32_t>(optional() + 60), file.text().size());
        if (at + SectionHeaderSize > headers) return false;
        const std::uint32_t alignment = alignment_in_file(), address = next_address(), place = aligned(file.text().size(), alignment);
        file.text().replace(at, SectionHeaderSize, SectionHeaderSize, '\0');
        file.text().replace(at, name.size(), name);
        file.put(at + 8, static_cast<std::uint32_t>(content.size()));
        file.put(at + 12, address);
        file.put(at + 16, aligned(content.size(), alignment));
        file.put(at + 20, place);
        file.put(at + 36, ReadableData);
        file.put(header() + 6, static_cast<std::uint16_t>(sections() + 1));
        file.put(size_of_image(), address + aligned(content.size(), alignment_in_memory()));
        file.text().resize(place);
        file.text().append(content);
        file.text().resize(place + aligned(content.size(), alignment));
        return true;
    }
    std::uint32_t next_address() const { return aligned(file.get<std::uint32_t>(size_of_image()), alignment_in_memory()); }
};

/// What a DLL exports, apart from where that is written.
struct Exports {
    struct Function {
        std::uint32_t address = 0;
        std::string forwarder;  ///< "dll.Name"; then the address is none
    };
    std::string directory;  ///< with the number of the first ordinal and other things that stay
    std::string dll;
    std::vector<Function> functions;             ///< by ordinal
    std::map<std::string, std::uint16_t> names;  ///< -> its function; loaders search in this order
};

std::optional<Exports> read_exports(const Image& image) {
    const auto address = image.file.get<std::uint32_t>(image.export_directory()),
               size = image.file.get<std::uint32_t>(image.export_directory() + 4);
    const auto directory = image.offset_of(address);
    if (!directory || *directory + DirectorySize > image.file.text().size()) return std::nullopt;
    const auto field = [&](std::size_t at) { return image.file.get<std::uint32_t>(*directory + at); };
    const auto functions = image.offset_of(field(28)), names = image.offset_of(field(32)), numbers = image.offset_of(field(36));
    if (!functions || !names || !numbers || field(20) >= MostExports || field(24) >= MostExports) return std::nullopt;

    Exports found{image.file.text().substr(*directory, DirectorySize), image.text_at(field(12)), {}, {}};
    for (std::size_t i = 0; i < field(20); ++i) {
        const auto function = image.file.get<std::uint32_t>(*functions + 4 * i);
        const bool forwarded = function >= address && function - address < size;
        found.functions.push_back({forwarded ? 0 : function, forwarded ? image.text_at(function) : ""});
    }
    for (std::size_t i = 0; i < field(24); ++i) {
        const auto number = image.file.get<std::uint16_t>(*numbers + 2 * i);
        if (number >= found.functions.size()) return std::nullopt;
        found.names[image.text_at(image.file.get<std::uint32_t>(*names + 4 * i))] = number;
    }
    return found;
}

/// The directory, its three tables and all texts, for this address. Texts of forwarders have to lie within: that is how they are known.
std::string write_exports(const Exports& exports, std::uint32_t address) {
    Bytes out(exports.directory);
    const std::size_t functions = DirectorySize, names = functions + 4 * exports.functions.size();
    const std::size_t numbers = names + 4 * exports.names.size();
    const auto put = [&](std::size_t at, std::size_t value) { out.put(at, static_cast<std::uint32_t>(value)); };
    std::string texts;
    const std::size_t texts_at = numbers + 2 * exports.names.size();
    const auto add_text = [&](const std::string& text) {
        const std::size_t at = address + texts_at + texts.size();
        texts += text + '\0';
        return at;
    };
    put(12, add_text(exports.dll));
    put(20, exports.functions.size());
    put(24, exports.names.size());
    put(28, address + functions);
    put(32, address + names);
    put(36, address + numbers);
    for (std::size_t i = 0; i < exports.functions.size(); ++i) {
        const Exports::Function& function = exports.functions[i];
        put(functions + 4 * i, function.forwarder.empty() ? function.address : add_text(function.forwarder));
    }
    std::size_t i = 0;
    for (const auto& [name, number] : exports.names) {
        put(names + 4 * i, add_text(name));
        out.put(numbers + 2 * i++, number);
    }
    return out.text() + texts;
}

}  // namespace

Result<std::string> forward_exports(std::string bytes, std::span<const std::string_view> names, std::string_view target) {
    Image image(std::move(bytes));
    auto exports = image.is_one() ? read_exports(image) : std::nullopt;
    if (!exports) return Error(Reason::Invalid, "not a DLL of 64 bits with exports");
    for (const std::string_view name : names) {
        if (const auto own = exports->names.find(std::string(name)); own != exports->names.end())
            exports->names.try_emplace(std::string(OwnPrefix) + own->first, own->second);
        exports->names[std::string(name)] = static_cast<std::uint16_t>(exports->functions.size());
        exports->functions.push_back({0, std::string(target) + "." + std::string(name)});
    }
    const std::uint32_t address = image.next_address();
    const std::string content = write_exports(*exports, address);
    if (!image.append_section(".forward", content)) return Error(Reason::Invalid, "no room for the header of another section");
    image.file.put(image.export_directory(), address);
    image.file.put(image.export_directory() + 4, static_cast<std::uint32_t>(content.size()));
    return std::move(image.file.text());
}

}  // namespace porthole::winhost
