#include "winhost/template/wine_files.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace porthole::winhost {
namespace {

bool belongs_to_version(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-';
}

}  // namespace

std::string version_in(std::string_view information) {
    constexpr std::string_view Says = "Version: Wine ";
    constexpr std::size_t Longest = 32;
    const std::size_t found = information.find(Says);
    if (found == information.npos) return "unknown";
    const std::string_view rest = information.substr(found + Says.size(), Longest);
    const std::string version(rest.begin(), std::ranges::find_if_not(rest, belongs_to_version));
    return version.empty() ? "unknown" : version;
}

bool is_for_this_machine(std::string_view file) {
    Elf64_Ehdr header{};
    static_assert(sizeof header == ElfHeaderSize);
    if (file.size() < sizeof header) return false;
    std::memcpy(&header, file.data(), sizeof header);
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == EM_X86_64;
}

}  // namespace porthole::winhost
