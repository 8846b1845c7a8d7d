#pragma once
#include <array>
#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "winhost/images/content/byte_source.h"

namespace porthole::winhost {

/// The head of one entry.
struct TarEntry {
    enum class Type { File, Folder, SymbolicLink, HardLink, Other };
    Type type = Type::File;
    std::string name;  ///< as in the archive: not trusted
    std::string link_name;
    std::uint64_t size = 0;    ///< of the content that follows; 0 for all but files
    std::uint64_t offset = 0;  ///< of the content in the archive
    std::timespec modified{};
};

/// Reads a tar file front to back: ustar, GNU long names and sizes, PAX records. Sparse files are refused. Blocking; `source` outlives it.
class TarReader {
public:
    explicit TarReader(ByteSource& source) : source_(source) {}

    /// The next entry; nullopt at the end of the archive. Unread content of the previous one is skipped. Errors: Invalid, Io.
    Result<std::optional<TarEntry>> next();
    /// Content of the entry that next() gave; 0 at its end.
    Result<std::size_t> read(std::span<char> buffer);

private:
    static constexpr std::size_t BlockSize = 512;
    using Block = std::array<char, BlockSize>;
    using Records = std::map<std::string, std::string>;

    Result<bool> read_block(Block& block);
    Result<void> skip_rest();
    Result<std::string> read_text(std::uint64_t size);
    Result<Records> read_records(std::uint64_t size);
    Result<TarEntry> make_entry(const Block& block, std::uint64_t size, const Records& records);

    ByteSource& source_;
    std::uint64_t position_ = 0;  ///< bytes consumed
    std::uint64_t left_ = 0;      ///< of the current entry's content
    std::uint64_t padding_ = 0;   ///< after it
};

}  // namespace porthole::winhost
