#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/tls/crypto.h"

namespace porthole::winhost {

/// Sequential bytes, blocking: for the worker pool.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    /// At least one byte; 0 at the end. Errors: Io, Invalid (broken compression).
    virtual Result<std::size_t> read(std::span<char> buffer) = 0;
};

/// Part of a file. Error: Io, NotFound.
Result<std::unique_ptr<ByteSource>> open_file_source(const std::string& path, std::uint64_t offset, std::uint64_t size);
/// A string that outlives it.
std::unique_ptr<ByteSource> make_text_source(std::string_view text);
/// Decompresses gzip or zstd; other bytes are passed through.
std::unique_ptr<ByteSource> make_unpacking_source(std::unique_ptr<ByteSource> packed);

/// Passes bytes on and computes their digest.
class HashingSource final : public ByteSource {
public:
    explicit HashingSource(std::unique_ptr<ByteSource> lower) : lower_(std::move(lower)) {}
    Result<std::size_t> read(std::span<char> buffer) override;
    /// Reads the remaining bytes, and returns the digest of all bytes, "sha256:…".
    Result<std::string> finish();
    std::uint64_t count() const { return count_; }

private:
    std::unique_ptr<ByteSource> lower_;
    net::Sha256 hash_;
    std::uint64_t count_ = 0;
};

/// Everything up to `limit` bytes. Error: RequestEntityTooLarge beyond.
Result<std::string> read_all(ByteSource& source, std::size_t limit);

}  // namespace porthole::winhost
