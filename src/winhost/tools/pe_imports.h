#pragma once
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace porthole::winhost {

/// Reads the headers of a program or DLL, 32 or 64 bits. The bytes are a container's: every read is within them. They must outlive it.
class PeImage {
public:
    explicit PeImage(std::string_view bytes) : bytes_(bytes) {}

    /// The DLLs that the loader must find before the program runs, in order; at most MostImports. Empty if it is not a PE file.
    std::vector<std::string> imports() const {
        std::vector<std::string> names;
        const auto table = directory(ImportDirectory);
        for (std::size_t i = 0; table && i < MostImports; ++i) {
            const auto descriptor = offset_of(*table + static_cast<std::uint64_t>(i) * DescriptorSize);
            const auto name = descriptor ? read<std::uint32_t>(*descriptor + NameInDescriptor) : std::nullopt;
            if (!name || *name == 0) break;
            std::string text = text_at(*name);
            if (text.empty()) break;
            names.push_back(std::move(text));
        }
        return names;
    }

    /// Where a function is that a DLL exports by name, relative to the image. Among the first MostExports names.
    std::optional<std::uint32_t> export_address(std::string_view wanted) const {
        const auto address = directory(ExportDirectory);
        const auto table = address ? offset_of(*address) : std::nullopt;
        if (!table) return std::nullopt;
        const auto count = read<std::uint32_t>(*table + 24), functions = read<std::uint32_t>(*table + 28);
        const auto names = read<std::uint32_t>(*table + 32), numbers = read<std::uint32_t>(*table + 36);
        for (std::uint64_t i = 0; numbers && i < *count && i < MostExports; ++i) {
            const auto name = read_loaded<std::uint32_t>(*names + 4 * i);
            if (!name || text_at(*name) != wanted) continue;
            const auto number = read_loaded<std::uint16_t>(*numbers + 2 * i);
            return number ? read_loaded<std::uint32_t>(*functions + std::uint64_t{4} * *number) : std::nullopt;
        }
        return std::nullopt;
    }

private:
    /// With the sections, of which Wine's loader takes no more, this bounds how long a search for a name lasts.
    static constexpr std::size_t MostImports = 512, MostExports = 16384, MostSections = 96, LongestName = 260;
    static constexpr std::uint64_t ExportDirectory = 0, ImportDirectory = 1;
    static constexpr std::uint64_t DescriptorSize = 20, NameInDescriptor = 12, SectionSize = 40, FileHeaderSize = 20;
    static constexpr std::uint64_t SignatureAt = 0x3C;
    static constexpr std::uint16_t Narrow = 0x10B, Wide = 0x20B;  ///< magic numbers of PE32 and PE32+

    /// Nullopt beyond the end. Offsets are sums of a few 32-bit numbers, and do not wrap.
    template <class Number>
    std::optional<Number> read(std::uint64_t at) const {
        Number value;
        if (at > bytes_.size() || bytes_.size() - at < sizeof value) return std::nullopt;
        std::memcpy(&value, bytes_.data() + at, sizeof value);
        return value;
    }

    /// Where the optional header begins.
    std::optional<std::uint64_t> optional_header() const {
        const auto header = bytes_.starts_with("MZ") ? read<std::uint32_t>(SignatureAt) : std::nullopt;
        if (!header || *header > bytes_.size() || !bytes_.substr(*header).starts_with(std::string_view("PE\0\0", 4))) return std::nullopt;
        return *header + std::uint64_t(4) + FileHeaderSize;
    }

    /// What is at an address of the loaded image.
    template <class Number>
    std::optional<Number> read_loaded(std::uint64_t address) const {
        const auto at = offset_of(address);
        return at ? read<Number>(*at) : std::nullopt;
    }

    /// The address of a table, relative to the image.
    std::optional<std::uint32_t> directory(std::uint64_t number) const {
        const auto header = optional_header();
        const auto magic = header ? read<std::uint16_t>(*header) : std::nullopt;
        if (magic != Narrow && magic != Wide) return std::nullopt;
        const std::uint64_t directories = *header + (magic == Wide ? 112 : 96);
        const auto count = read<std::uint32_t>(directories - 4);
        const auto address = count && *count > number ? read<std::uint32_t>(directories + 8 * number) : std::nullopt;
        return address && *address != 0 ? address : std::nullopt;
    }

    /// Where in the file the section lies that has this address when it is loaded.
    std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
        const std::uint64_t header = optional_header().value_or(0);
        const auto count = read<std::uint16_t>(header - FileHeaderSize + 2), size = read<std::uint16_t>(header - FileHeaderSize + 16);
        if (header == 0 || !count || *count > MostSections || !size) return std::nullopt;
        for (std::uint64_t i = 0; i < *count; ++i) {
            const std::uint64_t section = header + *size + i * SectionSize;
            const auto begin = read<std::uint32_t>(section + 12), length = read<std::uint32_t>(section + 16);
            const auto place = read<std::uint32_t>(section + 20);
            if (!begin || !length || !place) return std::nullopt;
            if (address >= *begin && address - *begin < *length) return *place + (address - *begin);
        }
        return std::nullopt;
    }

    std::string text_at(std::uint32_t address) const {
        const auto at = offset_of(address);
        if (!at || *at >= bytes_.size()) return "";
        const std::string_view rest = bytes_.substr(*at, LongestName);
        const std::size_t end = rest.find('\0');
        return end == rest.npos ? "" : std::string(rest.substr(0, end));
    }

    std::string_view bytes_;
};

}  // namespace porthole::winhost
