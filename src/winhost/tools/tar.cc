// tar.exe, which Windows has since 1803 and Wine has not: `kubectl cp` uses it in the container.
//   tar -c|-x|-t [-v] [-f FILE|-] [-C DIRECTORY] [PATH...]
// Letters may be joined, and the first ones need no dash. Archives are POSIX' (ustar and pax); GNU's long names are read. Drives and
// leading slashes are taken off names, as Windows' own does, and a name with ".." is not extracted. Compression, -r and -u are refused.
#include <windows.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t Block = 512, Piece = 64 << 10, LargestExtra = 64 << 10;
constexpr std::uint64_t Between1601And1970 = 11'644'473'600;

int failures = 0;

void say(const std::string& text) { std::fprintf(stderr, "tar: %s\n", text.c_str()); }
void fail(const std::string& text) {
    say(text);
    ++failures;
}
[[noreturn]] void give_up(const std::string& text) {
    say("Error: " + text);
    std::exit(1);
}

std::string to_utf8(const std::wstring& wide) {
    std::string text(wide.size() * 3, '\0');
    text.resize(WideCharToMultiByte(CP_UTF8, 0, wide.data(), int(wide.size()), text.data(), int(text.size()), nullptr, nullptr));
    return text;
}
std::wstring to_wide(const std::string& text) {
    std::wstring wide(text.size(), L'\0');
    wide.resize(MultiByteToWideChar(CP_UTF8, 0, text.data(), int(text.size()), wide.data(), int(wide.size())));
    return wide;
}

struct File {
    HANDLE handle = INVALID_HANDLE_VALUE;
    ~File() {
        if (handle != INVALID_HANDLE_VALUE) CloseHandle(handle);
    }
};

void write_all(HANDLE out, const char* data, std::size_t size) {
    for (DWORD done = 0; size > 0; data += done, size -= done)
        if (!WriteFile(out, data, DWORD(std::min(size, Piece)), &done, nullptr)) give_up("the archive cannot be written");
}
/// Fewer bytes than asked for only at the end.
std::size_t read_some(HANDLE in, char* data, std::size_t size) {
    std::size_t got = 0;
    for (DWORD done = 0; got < size && ReadFile(in, data + got, DWORD(size - got), &done, nullptr) && done > 0;) got += done;
    return got;
}

struct Header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6], version[2], user[32], group[32],
        major[8], minor[8], prefix[155], rest[12];
};
static_assert(sizeof(Header) == Block);

unsigned checksum_of(Header header) {
    std::memset(header.checksum, ' ', sizeof header.checksum);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
    unsigned sum = 0;
    for (std::size_t i = 0; i < Block; ++i) sum += bytes[i];
    return sum;
}

void pad(HANDLE out, std::uint64_t size) {
    static const char zeros[Block] = {};
    if (size % Block) write_all(out, zeros, Block - size % Block);
}

void write_header(HANDLE out, const std::string& name, char type, std::uint64_t size, std::uint64_t mtime) {
    Header header{};
    if (name.size() > sizeof header.name) {
        // A record of its own before it: "LENGTH path=NAME\n", whose length counts itself.
        const std::string rest = " path=" + name + "\n";
        std::size_t length = rest.size() + 1;
        while (std::to_string(length).size() + rest.size() != length) ++length;
        const std::string record = std::to_string(length) + rest;
        write_header(out, "PaxHeader", 'x', record.size(), mtime);
        write_all(out, record.data(), record.size());
        pad(out, record.size());
    }
    std::memcpy(header.name, name.data(), std::min(name.size(), sizeof header.name));
    std::snprintf(header.mode, sizeof header.mode, "%07o", type == '5' ? 0755u : 0644u);
    std::snprintf(header.uid, sizeof header.uid, "%07o", 0u);
    std::snprintf(header.gid, sizeof header.gid, "%07o", 0u);
    std::snprintf(header.size, sizeof header.size, "%011llo", static_cast<unsigned long long>(size));
    std::snprintf(header.mtime, sizeof header.mtime, "%011llo", static_cast<unsigned long long>(mtime));
    header.type = type;
    std::memcpy(header.magic, "ustar", 6);
    std::memcpy(header.version, "00", 2);
    std::snprintf(header.checksum, sizeof header.checksum, "%06o", checksum_of(header));
    header.checksum[7] = ' ';
    write_all(out, reinterpret_cast<const char*>(&header), Block);
}

/// The name in an archive: with slashes, without drive, leading slashes and "./"; "." for nothing else.
std::string archive_name(std::string path) {
    std::replace(path.begin(), path.end(), '\\', '/');
    for (;;) {
        if (path.size() > 1 && path[1] == ':')
            path.erase(0, 2);
        else if (path.starts_with('/'))
            path.erase(0, 1);
        else if (path.starts_with("./"))
            path.erase(0, 2);
        else
            break;
    }
    while (path.ends_with('/')) path.pop_back();
    return path.empty() ? "." : path;
}

struct Options {
    char mode = 0;
    bool verbose = false;
    std::wstring file = L"-";
    std::vector<std::wstring> paths;
};

std::uint64_t size_of(const WIN32_FIND_DATAW& found) { return std::uint64_t{found.nFileSizeHigh} << 32 | found.nFileSizeLow; }
std::uint64_t time_of(const WIN32_FIND_DATAW& found) {
    const std::uint64_t ticks = std::uint64_t{found.ftLastWriteTime.dwHighDateTime} << 32 | found.ftLastWriteTime.dwLowDateTime;
    return ticks / 10'000'000 < Between1601And1970 ? 0 : ticks / 10'000'000 - Between1601And1970;
}

void add_file(HANDLE out, const std::wstring& path, const std::string& name, const WIN32_FIND_DATAW& found) {
    const File file{CreateFileW(path.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING,
                                FILE_ATTRIBUTE_NORMAL, nullptr)};
    if (file.handle == INVALID_HANDLE_VALUE) return fail(name + ": cannot be opened");
    LARGE_INTEGER size;
    if (!GetFileSizeEx(file.handle, &size)) size.QuadPart = LONGLONG(size_of(found));
    write_header(out, name, '0', std::uint64_t(size.QuadPart), time_of(found));
    std::vector<char> piece(Piece);
    for (std::uint64_t left = std::uint64_t(size.QuadPart); left > 0;) {
        const std::size_t wanted = std::size_t(std::min<std::uint64_t>(left, piece.size())),
                          got = read_some(file.handle, piece.data(), wanted);
        // What has become shorter meanwhile is filled up: the header is written.
        std::fill(piece.begin() + std::ptrdiff_t(got), piece.begin() + std::ptrdiff_t(wanted), '\0');
        write_all(out, piece.data(), wanted);
        left -= wanted;
    }
    pad(out, std::uint64_t(size.QuadPart));
}

void add(HANDLE out, const std::wstring& path, const Options& options) {
    WIN32_FIND_DATAW found{};
    const HANDLE search = FindFirstFileW(path.c_str(), &found);
    const std::string name = archive_name(to_utf8(path));
    if (search != INVALID_HANDLE_VALUE) FindClose(search);
    if (search == INVALID_HANDLE_VALUE && name != ".") return fail(to_utf8(path) + ": Couldn't visit directory: No such file or directory");
    if (options.verbose) std::fprintf(stderr, "a %s\n", name.c_str());
    if (name != "." && !(found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)) return add_file(out, path, name, found);
    write_header(out, name + "/", '5', 0, time_of(found));
    if (found.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) return;  // a link may lead anywhere
    WIN32_FIND_DATAW entry{};
    const HANDLE entries = FindFirstFileW((path + L"\\*").c_str(), &entry);
    if (entries == INVALID_HANDLE_VALUE) return;
    do {
        const std::wstring below = entry.cFileName;
        if (below != L"." && below != L"..") add(out, path + L"\\" + below, options);
    } while (FindNextFileW(entries, &entry));
    FindClose(entries);
}

int create(HANDLE out, const Options& options) {
    if (options.paths.empty()) give_up("no files or directories specified");
    for (std::wstring path : options.paths) {
        std::replace(path.begin(), path.end(), L'/', L'\\');
        while (path.size() > 1 && path.ends_with(L'\\')) path.pop_back();
        add(out, path, options);
    }
    const char end[2 * Block] = {};
    write_all(out, end, sizeof end);
    return failures ? 1 : 0;
}

std::string text_in(const char* field, std::size_t size) { return std::string(field, strnlen(field, size)); }

/// Octal, or binary behind a first bit, as GNU writes large ones.
std::uint64_t number_in(const char* field, std::size_t size) {
    std::uint64_t value = 0;
    const bool binary = static_cast<unsigned char>(field[0]) & 0x80;
    for (std::size_t i = 0; i < size; ++i) {
        if (binary)
            value = value << 8 | static_cast<unsigned char>(i == 0 ? field[0] & 0x7f : field[i]);
        else if (field[i] >= '0' && field[i] <= '7')
            value = value << 3 | std::uint64_t(field[i] - '0');
        else if (field[i] != ' ')
            break;
    }
    return value;
}

/// "path" of a pax record; "" where there is none.
std::string path_in(const std::string& records) {
    for (std::size_t at = 0; at < records.size();) {
        const std::size_t length = std::strtoul(records.c_str() + at, nullptr, 10), space = records.find(' ', at);
        if (length == 0 || space == records.npos || at + length > records.size() || space >= at + length) break;
        const std::string record = records.substr(space + 1, at + length - space - 2);
        if (record.starts_with("path=")) return record.substr(5);
        at += length;
    }
    return "";
}

bool leads_out(const std::string& name) {
    for (std::size_t start = 0; start <= name.size();) {
        const std::size_t end = std::min(name.find('/', start), name.size());
        if (name.substr(start, end - start) == "..") return true;
        start = end + 1;
    }
    return false;
}

void make_folders(const std::wstring& path, bool whole) {
    for (std::size_t at = path.find(L'\\'); at != path.npos; at = path.find(L'\\', at + 1))
        CreateDirectoryW(path.substr(0, at).c_str(), nullptr);
    if (whole) CreateDirectoryW(path.c_str(), nullptr);
}

class Reader {
public:
    Reader(HANDLE in, const Options& options) : in_(in), options_(options) {}

    int run() {
        Header header;
        std::string long_name;
        while (read_some(in_, reinterpret_cast<char*>(&header), Block) == Block) {
            if (header.name[0] == 0 && checksum_of(header) == 8 * ' ') break;  // of zeros
            if (number_in(header.checksum, sizeof header.checksum) != checksum_of(header)) give_up("Unrecognized archive format");
            const std::uint64_t size = number_in(header.size, sizeof header.size);
            if (header.type == 'x' || header.type == 'L') {
                const std::string extra = read_extra(size);
                long_name = header.type == 'L' ? extra.c_str() : path_in(extra);
                continue;
            }
            std::string name = text_in(header.name, sizeof header.name), prefix = text_in(header.prefix, sizeof header.prefix);
            if (!prefix.empty() && std::memcmp(header.magic, "ustar", 6) == 0) name = prefix + "/" + name;
            if (!long_name.empty()) name = std::exchange(long_name, "");
            take(name, header.type, size);
        }
        return failures ? 1 : 0;
    }

private:
    void skip(std::uint64_t size) {
        std::vector<char> piece(Piece);
        for (size = (size + Block - 1) / Block * Block; size > 0;) {
            const std::size_t wanted = std::size_t(std::min<std::uint64_t>(size, piece.size()));
            if (read_some(in_, piece.data(), wanted) < wanted) give_up("Truncated input file");
            size -= wanted;
        }
    }
    std::string read_extra(std::uint64_t size) {
        if (size > LargestExtra) give_up("a name in the archive is too long");
        std::string text(std::size_t((size + Block - 1) / Block * Block), '\0');
        if (read_some(in_, text.data(), text.size()) < text.size()) give_up("Truncated input file");
        text.resize(std::size_t(size));
        return text;
    }

    void take(const std::string& member, char type, std::uint64_t size) {
        const std::string name = archive_name(member);
        if (options_.mode == 't') std::printf("%s\n", member.c_str());
        if (options_.mode == 'x' && options_.verbose) std::fprintf(stderr, "x %s\n", name.c_str());
        const bool folder = type == '5', regular = type == '0' || type == 0 || type == '7';
        if (options_.mode != 'x' || type == 'g') return skip(size);
        if (leads_out(name)) {
            fail(member + ": Path contains '..'");
            return skip(size);
        }
        if (!folder && !regular) {
            fail(member + ": links and devices are not extracted");
            return skip(size);
        }
        std::wstring path = to_wide(name);
        std::replace(path.begin(), path.end(), L'/', L'\\');
        make_folders(path, folder);
        if (folder) return skip(size);
        extract(member, path, size);
    }

    void extract(const std::string& member, const std::wstring& path, std::uint64_t size) {
        const File file{CreateFileW(path.c_str(), GENERIC_WRITE, FILE_SHARE_READ, nullptr, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr)};
        if (file.handle == INVALID_HANDLE_VALUE) {
            fail(member + ": Can't create '" + to_utf8(path) + "'");
            return skip(size);
        }
        std::vector<char> piece(Piece);
        for (std::uint64_t left = size; left > 0;) {
            const std::size_t wanted = std::size_t(std::min<std::uint64_t>(left, piece.size()));
            DWORD done = 0;
            if (read_some(in_, piece.data(), wanted) < wanted) give_up("Truncated input file");
            if (!WriteFile(file.handle, piece.data(), DWORD(wanted), &done, nullptr) || done != wanted) give_up(member + ": Write failed");
            left -= wanted;
        }
        if (size % Block) {
            char rest[Block];
            if (read_some(in_, rest, Block - size % Block) < Block - size % Block) give_up("Truncated input file");
        }
    }

    HANDLE in_;
    const Options& options_;
};

Options read_options(int count, wchar_t** words) {
    Options options;
    for (int i = 1; i < count; ++i) {
        std::wstring word = words[i];
        const bool letters = word.size() > 1 && word[0] == L'-' && word != L"--";
        if (word == L"--") continue;
        if (!letters && i > 1) {
            options.paths.push_back(word);
            continue;
        }
        for (std::size_t at = letters ? 1 : 0; at < word.size(); ++at) {
            const wchar_t letter = word[at];
            const auto value = [&]() -> std::wstring {
                if (letters && at + 1 < word.size()) return word.substr(std::exchange(at, word.size()) + 1);
                if (i + 1 >= count) give_up("Option requires an argument");
                return words[++i];
            };
            if (letter == L'c' || letter == L'x' || letter == L't') {
                options.mode = char(letter);
            } else if (letter == L'f') {
                options.file = value();
            } else if (letter == L'C') {
                const std::wstring folder = value();
                if (!SetCurrentDirectoryW(folder.c_str())) give_up("could not chdir to '" + to_utf8(folder) + "'");
            } else if (letter == L'v') {
                options.verbose = true;
            } else if (letter != L'm' && letter != L'p' && letter != L'o') {
                give_up("Option -" + to_utf8(std::wstring(1, letter)) + " is not supported on an emulated host");
            }
        }
    }
    if (!options.mode) give_up("Must specify one of -c, -t, -x");
    return options;
}

}  // namespace

int wmain(int count, wchar_t** words) {
    const Options options = read_options(count, words);
    const bool creates = options.mode == 'c';
    if (options.file == L"-") {
        const HANDLE standard = GetStdHandle(creates ? STD_OUTPUT_HANDLE : STD_INPUT_HANDLE);
        return creates ? create(standard, options) : Reader(standard, options).run();
    }
    const File file{CreateFileW(options.file.c_str(), creates ? GENERIC_WRITE : GENERIC_READ, FILE_SHARE_READ, nullptr,
                                creates ? CREATE_ALWAYS : OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr)};
    if (file.handle == INVALID_HANDLE_VALUE) give_up("Error opening archive: Failed to open '" + to_utf8(options.file) + "'");
    return creates ? create(file.handle, options) : Reader(file.handle, options).run();
}
