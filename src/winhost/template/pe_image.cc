#include "winhost/template/pe_image.h"

#include <algorithm>
#include <cstdint>
#include <ranges>

#include "winhost/template/pe_bytes.h"

namespace porthole::winhost {
namespace {

/// Long names ("/19" points into the string table) are only given to debug sections.
bool is_debug(std::string_view header) { return header.starts_with('/') || header.starts_with(".debug"); }

/// Of the optional header: up to the size of the image and that of the headers, which differ in what is written.
constexpr std::size_t WrittenOptionalHeader = 64;

}  // namespace

Result<std::string> strip_debug_sections(std::string image) {
    const auto header = get<std::uint32_t>(image, HeaderOffsetAt);
    if (!image.starts_with("MZ") || header > image.size() || image.compare(header, 4, std::string_view("PE\0\0", 4)) != 0) return image;
    const auto count = get<std::uint16_t>(image, header + 6);
    const std::size_t optional = header + FileHeaderSize;
    const std::size_t table = optional + get<std::uint16_t>(image, header + 20);
    const auto section_alignment = get<std::uint32_t>(image, optional + 32), file_alignment = get<std::uint32_t>(image, optional + 36);
    const auto headers_size = get<std::uint32_t>(image, optional + 60);
    const Error broken(Reason::Invalid, "not a valid executable file");
    const auto section_at = [&](std::size_t i) { return std::string_view(image).substr(table + i * SectionHeaderSize, SectionHeaderSize); };
    if (headers_size > image.size() || table + count * SectionHeaderSize > headers_size) return broken;
    if (std::ranges::none_of(std::views::iota(0U, unsigned{count}), is_debug, section_at)) return image;
    if (table < optional + WrittenOptionalHeader || count > MostSections || file_alignment > LargestAlignment) return broken;

    std::string out = image.substr(0, headers_size), kept;
    std::uint32_t end = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::string section(section_at(i));
        if (is_debug(section)) continue;
        const auto virtual_size = get<std::uint32_t>(section, 8), address = get<std::uint32_t>(section, 12);
        const auto raw_size = get<std::uint32_t>(section, 16), raw = get<std::uint32_t>(section, 20);
        if (raw != 0) {
            if (std::size_t{raw} + raw_size > image.size()) return broken;
            out.resize(round_up(static_cast<std::uint32_t>(out.size()), file_alignment));
            // Sections share no bytes of the file, so that what is left of it is not larger.
            if (out.size() + raw_size > image.size()) return broken;
            put(section, 20, static_cast<std::uint32_t>(out.size()));
            out.append(image, raw, raw_size);
        }
        end = std::max(end, address + virtual_size);
        kept += section;
    }
    put(out, header + 6, static_cast<std::uint16_t>(kept.size() / SectionHeaderSize));
    put<std::uint32_t>(out, header + 12, 0);  // symbols: where and how many
    put<std::uint32_t>(out, header + 16, 0);
    put(out, optional + 56, round_up(end, section_alignment));
    kept.resize(count * SectionHeaderSize);
    out.replace(table, kept.size(), kept);
    return out;
}

namespace {

/// Wine 10's handler does so for Ctrl+C and Ctrl+Break only: cmp ebx,1; jbe +8; xor ecx,ecx; call [rip+x]; mov ecx,C000013Ah. The jump to
/// the last becomes unconditional.
bool correct_handler_of_wine_10(std::string& image) {
    constexpr std::string_view Begin("\x83\xFB\x01\x76\x08\x31\xC9\xFF\x15", 9), End("\xB9\x3A\x01\x00\xC0\xFF\x15", 7);
    constexpr std::size_t JumpAt = 3, EndAt = 13;
    std::size_t found = image.npos;
    for (std::size_t at = image.find(Begin); at != image.npos; at = image.find(Begin, at + 1)) {
        if (image.size() - at < EndAt + End.size() || image.compare(at + EndAt, End.size(), End) != 0) continue;
        if (found != image.npos) return false;
        found = at;
    }
    if (found == image.npos) return false;
    image[found + JumpAt] = '\xEB';
    return true;
}

}  // namespace

bool correct_default_control_handler(std::string& image) {
    if (correct_handler_of_wine_10(image)) return true;
    // sub rsp,38h; test byte [rip+x],1; jne +8; xor ecx,ecx; call [rip+y]   becomes   sub rsp,38h; mov ecx,C000013Ah; call [rip+y+6]
    constexpr std::string_view Begin("\x48\x83\xEC\x38\xF6\x05", 6);
    constexpr std::string_view Middle("\x01\x75\x08\x31\xC9\xFF\x15", 7);
    constexpr std::size_t MiddleAt = 10, CallOperandAt = 17, End = 21;
    std::size_t found = image.npos;
    for (std::size_t at = image.find(Begin); at != image.npos; at = image.find(Begin, at + 1)) {
        if (image.size() - at < End || image.compare(at + MiddleAt, Middle.size(), Middle) != 0) continue;
        if (found != image.npos) return false;  // not the only one: better leave it
        found = at;
    }
    if (found == image.npos) return false;
    const auto operand = get<std::uint32_t>(image, found + CallOperandAt);  // relative: wraps as addresses do
    std::string code("\xB9\x3A\x01\x00\xC0\xFF\x15", 7);
    code.resize(11);
    put(code, 7, operand + static_cast<std::uint32_t>(End - (4 + code.size())));
    code.resize(End - 4, '\x90');
    image.replace(found + 4, code.size(), code);
    return true;
}

bool hide_placeholders(std::string& image) {
    using namespace std::string_view_literals;
    constexpr std::string_view Names = "\0VirtualAlloc\0VirtualAlloc2\0VirtualAlloc2FromApp\0"sv;  // as they follow each other in the table
    constexpr std::size_t Digit = "\0VirtualAlloc\0VirtualAlloc"sv.size();
    const std::size_t at = image.find(Names);
    if (at == image.npos) return false;
    image[at + Digit] = '0';
    return true;
}

bool limit_stack_clearing(std::string& image) {
    // and rcx,-1000h; lea rdi,[rcx-F0000h]; mov rsp,rdi; sub rcx,rdi; xor eax,eax; shr rcx,3; rep stosq
    constexpr std::string_view Code(
        "\x48\x81\xE1\x00\xF0\xFF\xFF\x48\x8D\xB9\x00\x00\xF1\xFF\x48\x89\xFC\x48\x29\xF9\x31\xC0\x48\xC1\xE9\x03\xF3\x48\xAB", 29);
    constexpr std::size_t DistanceAt = 10;
    constexpr std::int32_t Distance = -0x10000;
    const std::size_t found = image.find(Code);
    if (found == image.npos || image.find(Code, found + 1) != image.npos) return false;
    put(image, found + DistanceAt, Distance);
    return true;
}

namespace {

/// Whether the code at `at` begins to make the registry's key with the machine's time zone: lea rax,[rsp+x]; xor r9d,r9d; xor r8d,r8d; mov
/// qword [rsp+40h],0; mov [rsp+38h],rax; lea rdx,[name]. Distances in the file are those in memory, as all sections are aligned alike.
bool makes_key_of_time_zone(std::string_view image, std::size_t at) {
    using namespace std::string_view_literals;
    constexpr std::string_view Code = "\x45\x31\xC9\x45\x31\xC0\x48\xC7\x44\x24\x40\0\0\0\0\x48\x89\x44\x24\x38\x48\x8D\x15"sv;
    constexpr std::u16string_view Name = u"System\\CurrentControlSet\\Control\\TimeZoneInformation";
    constexpr std::size_t CodeAt = 5, OperandAt = CodeAt + Code.size(), EndAt = OperandAt + 4;
    if (at >= image.size() || image.substr(at).size() < EndAt || image.substr(at + CodeAt, Code.size()) != Code) return false;
    const std::size_t name = at + EndAt + get<std::uint32_t>(image, at + OperandAt), size = Name.size() * sizeof(char16_t);
    return name < image.size() && image.substr(name, size) == std::string_view(reinterpret_cast<const char*>(Name.data()), size);
}

}  // namespace

bool leave_out_time_zone(std::string& image) {
    // call GetDynamicTimeZoneInformation; cmp eax,-1; jne makes_key   becomes   mov eax,-1; cmp eax,-1; jne makes_key
    constexpr std::string_view Failed("\xB8\xFF\xFF\xFF\xFF", 5), Test("\x83\xF8\xFF\x0F\x85", 5);
    constexpr char Call = '\xE8';
    for (std::size_t at = image.find(Test); at != image.npos; at = image.find(Test, at + 1)) {
        const std::size_t end = at + Test.size() + sizeof(std::int32_t);
        const auto distance = get<std::int32_t>(image, at + Test.size());
        if (at < Failed.size() || image[at - Failed.size()] != Call || distance < 0) continue;
        if (!makes_key_of_time_zone(image, end + static_cast<std::size_t>(distance))) continue;
        image.replace(at - Failed.size(), Failed.size(), Failed);
        return true;
    }
    return false;
}

}  // namespace porthole::winhost
