#include "winhost/images/content/byte_source.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "winhost/images/content/files.h"

namespace porthole::winhost {
namespace {

constexpr std::size_t PieceSize = 64 << 10;

class FileSource final : public ByteSource {
public:
    FileSource(FileDescriptor file, std::string path, std::uint64_t offset, std::uint64_t size)
        : file_(std::move(file)), path_(std::move(path)), offset_(offset), left_(size) {}
    Result<std::size_t> read(std::span<char> buffer) override {
        const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), left_);
        if (wanted == 0) return std::size_t{0};
        const ssize_t got = ::pread(file_.get(), buffer.data(), wanted, static_cast<off_t>(offset_));
        if (got < 0) return io_error("reading", path_);
        if (got == 0) return Error(Reason::Io, path_ + " is shorter than it was");
        offset_ += static_cast<std::uint64_t>(got);
        left_ -= static_cast<std::uint64_t>(got);
        return static_cast<std::size_t>(got);
    }

private:
    FileDescriptor file_;
    std::string path_;
    std::uint64_t offset_, left_;
};

class TextSource final : public ByteSource {
public:
    explicit TextSource(std::string_view text) : text_(text) {}
    Result<std::size_t> read(std::span<char> buffer) override {
        const std::size_t count = std::min(buffer.size(), text_.size());
        std::copy_n(text_.data(), count, buffer.data());
        text_.remove_prefix(count);
        return count;
    }

private:
    std::string_view text_;
};

/// Packed bytes as they wait for the decoder.
class Input {
public:
    explicit Input(ByteSource& lower) : lower_(lower), buffer_(PieceSize) {}
    /// What is waiting; empty only at the end.
    Result<std::string_view> peek() {
        if (used_ == filled_) {
            TRY(filled_, lower_.read(buffer_));
            used_ = 0;
        }
        return std::string_view(buffer_.data() + used_, filled_ - used_);
    }
    void take(std::size_t count) { used_ += count; }
    /// Waits for `count` bytes where there are as many.
    Result<std::string_view> peek_start(std::size_t count) {
        while (filled_ < count) {
            TRY(const std::size_t got, lower_.read(std::span(buffer_).subspan(filled_)));
            if (got == 0) break;
            filled_ += got;
        }
        return std::string_view(buffer_.data(), filled_);
    }

private:
    ByteSource& lower_;
    std::vector<char> buffer_;
    std::size_t used_ = 0, filled_ = 0;
};

class Decoder {
public:
    virtual ~Decoder() = default;
    virtual Result<std::size_t> read(Input& input, std::span<char> buffer) = 0;
};

class PlainDecoder final : public Decoder {
public:
    Result<std::size_t> read(Input& input, std::span<char> buffer) override {
        TRY(const auto waiting, input.peek());
        const std::size_t count = std::min(buffer.size(), waiting.size());
        std::copy_n(waiting.data(), count, buffer.data());
        input.take(count);
        return count;
    }
};

/// One or more gzip members.
class GzipDecoder final : public Decoder {
public:
    GzipDecoder() { CHECK(inflateInit2(&stream_, 15 + 16) == Z_OK); }
    ~GzipDecoder() override { inflateEnd(&stream_); }
    Result<std::size_t> read(Input& input, std::span<char> buffer) override {
        for (;;) {
            TRY(const auto waiting, input.peek());
            if (waiting.empty()) {
                if (between_members_) return std::size_t{0};
                return Error(Reason::Invalid, "gzip: cut off");
            }
            if (between_members_ && waiting.front() == '\0') {  // padding, as tapes have it
                input.take(1);
                continue;
            }
            TRY(const std::size_t made, inflate_once(input, waiting, buffer));
            if (made > 0) return made;
        }
    }

private:
    Result<std::size_t> inflate_once(Input& input, std::string_view waiting, std::span<char> buffer) {
        between_members_ = false;
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(waiting.data()));
        stream_.avail_in = static_cast<uInt>(waiting.size());
        stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
        stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(buffer.size(), 1 << 30));
        const uInt room = stream_.avail_out;
        const int code = inflate(&stream_, Z_NO_FLUSH);
        input.take(waiting.size() - stream_.avail_in);
        if (code == Z_STREAM_END) {
            CHECK(inflateReset(&stream_) == Z_OK);
            between_members_ = true;
        } else if (code != Z_OK && code != Z_BUF_ERROR) {
            return Error(Reason::Invalid, std::string("gzip: ") + (stream_.msg ? stream_.msg : "broken data"));
        }
        return static_cast<std::size_t>(room - stream_.avail_out);
    }
    z_stream stream_{};
    bool between_members_ = false;
};

class ZstdDecoder final : public Decoder {
public:
    Result<std::size_t> read(Input& input, std::span<char> buffer) override {
        for (;;) {
            TRY(const auto waiting, input.peek());
            if (waiting.empty() && complete_) return std::size_t{0};
            ZSTD_inBuffer in{waiting.data(), waiting.size(), 0};
            ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
            const std::size_t code = ZSTD_decompressStream(stream_.get(), &out, &in);
            if (ZSTD_isError(code)) return Error(Reason::Invalid, std::string("zstd: ") + ZSTD_getErrorName(code));
            input.take(in.pos);
            complete_ = code == 0;
            if (out.pos > 0) return out.pos;
            if (waiting.empty()) return Error(Reason::Invalid, "zstd: cut off");
        }
    }

private:
    struct Free {
        void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
    };
    std::unique_ptr<ZSTD_DStream, Free> stream_{ZSTD_createDStream()};
    bool complete_ = false;
};

std::unique_ptr<Decoder> decoder_for(std::string_view start) {
    if (start.starts_with("\x1f\x8b")) return std::make_unique<GzipDecoder>();
    if (start.starts_with("\x28\xb5\x2f\xfd")) return std::make_unique<ZstdDecoder>();
    return std::make_unique<PlainDecoder>();
}

class UnpackingSource final : public ByteSource {
public:
    explicit UnpackingSource(std::unique_ptr<ByteSource> packed) : packed_(std::move(packed)), input_(*packed_) {}
    Result<std::size_t> read(std::span<char> buffer) override {
        if (!decoder_) {
            TRY(const auto start, input_.peek_start(4));
            decoder_ = decoder_for(start);
        }
        return decoder_->read(input_, buffer);
    }

private:
    std::unique_ptr<ByteSource> packed_;
    Input input_;
    std::unique_ptr<Decoder> decoder_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_file_source(const std::string& path, std::uint64_t offset, std::uint64_t size) {
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return io_error("opening", path);
    return std::make_unique<FileSource>(std::move(file), path, offset, size);
}

std::unique_ptr<ByteSource> make_text_source(std::string_view text) { return std::make_unique<TextSource>(text); }

std::unique_ptr<ByteSource> make_unpacking_source(std::unique_ptr<ByteSource> packed) {
    return std::make_unique<UnpackingSource>(std::move(packed));
}

Result<std::size_t> HashingSource::read(std::span<char> buffer) {
    TRY(const std::size_t count, lower_->read(buffer));
    hash_.update({buffer.data(), count});
    count_ += count;
    return count;
}

Result<std::string> HashingSource::finish() {
    std::vector<char> buffer(PieceSize);
    for (;;) {
        TRY(const std::size_t count, read(buffer));
        if (count == 0) return "sha256:" + hash_.finish_hex();
    }
}

Result<std::string> read_all(ByteSource& source, std::size_t limit) {
    std::string text;
    std::array<char, 16 << 10> buffer;
    for (;;) {
        TRY(const std::size_t count, source.read(buffer));
        if (count == 0) return text;
        if (text.size() + count > limit) return Error(Reason::RequestEntityTooLarge, "more than " + std::to_string(limit) + " bytes");
        text.append(buffer.data(), count);
    }
}

}  // namespace porthole::winhost
