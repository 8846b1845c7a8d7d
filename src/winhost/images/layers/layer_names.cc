#include "winhost/images/layers/layer_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <wctype.h>

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "winhost/images/content/files.h"

namespace porthole::winhost {
namespace {

/// The code point at the front and its length; length 0 for what is not UTF-8.
std::pair<char32_t, std::size_t> decode(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    if (byte(0) < 0x80) return {byte(0), 1};
    const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return {0, 0};
    char32_t code = byte(0) & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80) return {0, 0};
        code = code << 6U | (byte(i) & 0x3fU);
    }
    return {code, length};
}

void encode(char32_t code, std::string& out) {
    const auto tail = [&](int shift) { out += static_cast<char>(0x80U | (code >> shift & 0x3fU)); };
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xc0U | code >> 6U);
        tail(0);
    } else if (code < 0x10000) {
        out += static_cast<char>(0xe0U | code >> 12U);
        tail(6);
        tail(0);
    } else {
        out += static_cast<char>(0xf0U | code >> 18U);
        tail(12);
        tail(6);
        tail(0);
    }
}

/// One of glibc's own locales, so that it is there without any installed; never freed.
locale_t unicode() {
    static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    CHECK(locale);
    return locale;
}

FileDescriptor open_folder(const std::string& drive, std::string_view folder) {
    FileDescriptor at(::open(drive.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (at && !folder.empty()) {
        const std::string name(folder.substr(0, folder.find('/')));
        folder.remove_prefix(std::min(name.size() + 1, folder.size()));
        at = FileDescriptor(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    return at;
}

struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
};

template <class Visit>
void for_each_name(const std::string& drive, const std::string& folder, Visit visit) {
    const FileDescriptor at = open_folder(drive, folder);
    if (!at) return;
    const std::unique_ptr<DIR, CloseFolder> listing(::fdopendir(::fcntl(at.get(), F_DUPFD_CLOEXEC, 0)));
    while (const dirent* entry = listing ? ::readdir(listing.get()) : nullptr) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") visit(name);
    }
}

}  // namespace

std::string fold_case(std::string_view name) {
    std::string folded;
    while (!name.empty()) {
        const auto [code, length] = decode(name);
        if (length == 0) {
            folded += name.front();
            name.remove_prefix(1);
            continue;
        }
        encode(static_cast<char32_t>(::towupper_l(static_cast<wint_t>(code), unicode())), folded);
        name.remove_prefix(length);
    }
    return folded;
}

LayerNames::Names& LayerNames::names_of(const std::string& folder) {
    const auto [found, is_new] = folders_.try_emplace(folder);
    if (is_new) {
        for (const std::string& drive : drives_) {
            for_each_name(drive, folder, [&](std::string_view name) { found->second.try_emplace(fold_case(name), name); });
        }
        names_ += found->second.size();
    }
    return found->second;
}

const std::string& LayerNames::spelling(const std::string& folder, const std::string& name) {
    const auto [found, is_new] = names_of(folder).try_emplace(fold_case(name), name);
    if (is_new) ++names_;
    return found->second;
}

}  // namespace porthole::winhost
