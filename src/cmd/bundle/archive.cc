#include "cmd/bundle/archive.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

namespace porthole::cmd::bundle {
namespace {

#ifdef O_BINARY
constexpr int Binary = O_BINARY;  // Windows would change ends of lines
#else
constexpr int Binary = 0;
#endif
constexpr std::size_t BlockSize = 512, LongestName = 100, LongestPrefix = 155;
constexpr std::uint64_t LargestEntry = 0777'7777'7777;  // eleven octal digits

/// Names come from nodes and objects: nothing leads out of the folder in which somebody unpacks.
std::string safe_name(std::string_view name) {
    std::string safe;
    for (const char c : name) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
        if (c == '/') {
            while (safe.ends_with('.')) safe.pop_back();  // no "..", and no name that Windows does not have
            if (!safe.empty() && !safe.ends_with('/')) safe += '/';
        } else {
            safe += plain ? c : '_';
        }
    }
    while (safe.ends_with('.') || safe.ends_with('/')) safe.pop_back();
    return safe.empty() ? "unnamed" : safe;
}

/// Writes `name` as ustar does, in two parts where it is long.
void put_name(std::array<char, BlockSize>& block, std::string name) {
    if (name.size() > LongestName) {
        const std::size_t slash = name.rfind('/', LongestPrefix);
        const bool fits = slash != std::string::npos && name.size() - slash - 1 <= LongestName;
        if (fits) {
            name.copy(block.data() + 345, slash);
            name = name.substr(slash + 1);
        }
        name.resize(std::min(name.size(), LongestName));
    }
    name.copy(block.data(), name.size());
}

template <class... Arguments>
void put_number(std::array<char, BlockSize>& block, std::size_t at, std::size_t size, const char* format, Arguments... number) {
    std::array<char, 24> digits{};
    std::snprintf(digits.data(), digits.size(), format, number...);
    std::copy_n(digits.data(), size, block.data() + at);
}

std::array<char, BlockSize> head(std::string name, std::uint64_t size, std::int64_t time) {
    std::array<char, BlockSize> block{};
    put_name(block, std::move(name));
    put_number(block, 100, 8, "%07o", 0600u);
    put_number(block, 108, 8, "%07o", 0u);
    put_number(block, 116, 8, "%07o", 0u);
    put_number(block, 124, 12, "%011llo", static_cast<unsigned long long>(size));
    put_number(block, 136, 12, "%011llo", static_cast<unsigned long long>(time));
    block[156] = '0';
    std::memcpy(block.data() + 257, "ustar\00000", 8);
    std::fill_n(block.data() + 148, 8, ' ');
    unsigned sum = 0;
    for (const char c : block) sum += static_cast<unsigned char>(c);
    put_number(block, 148, 7, "%06o", sum);
    return block;
}

}  // namespace

struct Archive::Impl {
    std::string path;
    gzFile file = nullptr;
    std::int64_t time = 0;

    ~Impl() {
        if (file) gzclose(file);
    }
    Result<void> write(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto piece = static_cast<unsigned>(std::min<std::size_t>(bytes.size(), 1 << 20));
            if (gzwrite(file, bytes.data(), piece) != static_cast<int>(piece)) return failure();
            bytes.remove_prefix(piece);
        }
        return {};
    }
    Error failure() const {
        int code = Z_OK;
        const char* said = file ? gzerror(file, &code) : "";
        return Error(Reason::Io, "writing " + path + ": " + (code == Z_ERRNO || code == Z_OK ? std::strerror(errno) : said));
    }
};

Archive::Archive(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Archive::Archive(Archive&&) noexcept = default;
Archive::~Archive() = default;

Result<Archive> Archive::create(const std::string& path, Timestamp now) {
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    impl->time = now.seconds();
    const int opened = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | Binary, 0600);
    if (opened < 0 && errno == EEXIST) return Error(Reason::AlreadyExists, path + " already exists: choose another name, or remove it");
    if (opened < 0) return Error(Reason::Io, "making " + path + ": " + std::strerror(errno));
    impl->file = gzdopen(opened, "wb6");
    if (!impl->file) {
        ::close(opened);
        return Error(Reason::Io, "making " + path + ": out of memory");
    }
    return Archive(std::move(impl));
}

Result<void> Archive::add(std::string_view name, std::string_view text) {
    text = text.substr(0, LargestEntry);
    const auto block = head(safe_name(name), text.size(), impl_->time);
    TRY_VOID(impl_->write(std::string_view(block.data(), block.size())));
    TRY_VOID(impl_->write(text));
    return impl_->write(std::string((BlockSize - text.size() % BlockSize) % BlockSize, '\0'));
}

Result<void> Archive::close() {
    TRY_VOID(impl_->write(std::string(2 * BlockSize, '\0')));
    const gzFile file = std::exchange(impl_->file, nullptr);
    if (gzclose(file) != Z_OK) return impl_->failure();
    return {};
}

}  // namespace porthole::cmd::bundle
