#include "net/streams/spdy_headers.h"

#include <zlib.h>

#include <algorithm>

namespace porthole::net {
namespace {

void append_number(std::string& bytes, std::size_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
}

/// The preset dictionary of SPDY/3: header words behind their lengths, then common values. 1423 bytes, Adler-32
/// 0xe3c6a7c2.
const std::string& dictionary() {
    static const std::string bytes = [] {
        std::string_view words =
            "options,head,post,put,delete,trace,accept,accept-charset,accept-encoding,accept-language,"
            "accept-ranges,age,allow,authorization,cache-control,connection,content-base,content-encoding,"
            "content-language,content-length,content-location,content-md5,content-range,content-type,date,"
            "etag,expect,expires,from,host,if-match,if-modified-since,if-none-match,if-range,"
            "if-unmodified-since,last-modified,location,max-forwards,pragma,proxy-authenticate,"
            "proxy-authorization,range,referer,retry-after,server,te,trailer,transfer-encoding,upgrade,"
            "user-agent,vary,via,warning,www-authenticate,method,get,status,200 OK,version,HTTP/1.1,url,"
            "public,set-cookie,keep-alive,origin";
        constexpr std::string_view Values =
            "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 "
            "Non-Authoritative "
            "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not "
            "Found500 Internal "
            "Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
            "00:00:00 Mon, "
            "Tue, Wed, Thu, Fri, Sat, Sun, "
            "GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/"
            "xhtml+xml,text/plain,text/"
            "javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,"
            "enq=0.";
        std::string all;
        while (!words.empty()) {
            const std::string_view word = words.substr(0, words.find(','));
            words.remove_prefix(std::min(words.size(), word.size() + 1));
            append_number(all, word.size());
            all += word;
        }
        return all.append(Values);
    }();
    return bytes;
}

const Bytef* octets(std::string_view bytes) { return reinterpret_cast<const Bytef*>(bytes.data()); }

/// Cuts numbers and texts off the front of a block.
class BlockReader {
public:
    explicit BlockReader(std::string_view block) : rest_(block) {}
    Result<std::size_t> number() {
        if (rest_.size() < 4) return cut();
        std::size_t value = 0;
        for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(rest_[i]);
        rest_.remove_prefix(4);
        return value;
    }
    Result<std::string_view> text() {
        TRY(const std::size_t size, number());
        if (rest_.size() < size) return cut();
        const std::string_view text = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return text;
    }

private:
    static Error cut() { return Error(Reason::BadRequest, "SPDY: header block cut off"); }
    std::string_view rest_;
};

Result<Headers> parse_block(std::string_view block) {
    BlockReader reader(block);
    Headers headers;
    std::size_t built = 0;  // bytes: each value of a name brings the name with it
    TRY(const std::size_t count, reader.number());
    for (std::size_t i = 0; i < count; ++i) {
        TRY(const auto name, reader.text());
        TRY(auto values, reader.text());
        std::string lower(name);
        for (char& c : lower) {
            if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
        }
        for (;;) {
            const auto end = values.find('\0');
            const std::string_view value = values.substr(0, end);
            constexpr std::size_t Overhead = 32;  // of a field, as HPACK counts it
            built += lower.size() + value.size() + Overhead;
            if (built > SpdyHeaderReader::LargestBlock) return Error(Reason::BadRequest, "SPDY: header block too large");
            headers.add(lower, std::string(value));
            if (end == values.npos) break;
            values.remove_prefix(end + 1);
        }
    }
    return headers;
}

}  // namespace

struct SpdyHeaderWriter::Zlib {
    z_stream stream{};
};

SpdyHeaderWriter::SpdyHeaderWriter() : zlib_(std::make_unique<Zlib>()) {
    CHECK(deflateInit(&zlib_->stream, Z_DEFAULT_COMPRESSION) == Z_OK);
    deflateSetDictionary(&zlib_->stream, octets(dictionary()), static_cast<uInt>(dictionary().size()));
}

SpdyHeaderWriter::~SpdyHeaderWriter() { deflateEnd(&zlib_->stream); }

std::string SpdyHeaderWriter::write(const Headers& headers) {
    std::string block;
    append_number(block, headers.fields().size());
    for (const auto& [name, value] : headers.fields()) {
        append_number(block, name.size());
        block += name;
        append_number(block, value.size());
        block += value;
    }
    z_stream& stream = zlib_->stream;
    std::string packed(deflateBound(&stream, static_cast<uLong>(block.size())) + 64, '\0');  // 64: room for the flush
    stream.next_in = const_cast<Bytef*>(octets(block));
    stream.avail_in = static_cast<uInt>(block.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    CHECK(deflate(&stream, Z_SYNC_FLUSH) == Z_OK && stream.avail_in == 0);
    packed.resize(packed.size() - stream.avail_out);
    return packed;
}

struct SpdyHeaderReader::Zlib {
    z_stream stream{};
};

SpdyHeaderReader::SpdyHeaderReader() : zlib_(std::make_unique<Zlib>()) { CHECK(inflateInit(&zlib_->stream) == Z_OK); }
SpdyHeaderReader::~SpdyHeaderReader() { inflateEnd(&zlib_->stream); }

Result<Headers> SpdyHeaderReader::read(std::string_view block) {
    z_stream& stream = zlib_->stream;
    std::string plain(LargestBlock, '\0');
    stream.next_in = const_cast<Bytef*>(octets(block));
    stream.avail_in = static_cast<uInt>(block.size());
    stream.next_out = reinterpret_cast<Bytef*>(plain.data());
    stream.avail_out = static_cast<uInt>(plain.size());
    int result = inflate(&stream, Z_SYNC_FLUSH);
    if (result == Z_NEED_DICT) {
        if (inflateSetDictionary(&stream, octets(dictionary()), static_cast<uInt>(dictionary().size())) != Z_OK) {
            return Error(Reason::BadRequest, "SPDY: headers packed with another dictionary");
        }
        result = inflate(&stream, Z_SYNC_FLUSH);
    }
    if (stream.avail_out == 0) return Error(Reason::BadRequest, "SPDY: header block too large");
    if ((result != Z_OK && result != Z_BUF_ERROR) || stream.avail_in > 0) {
        return Error(Reason::BadRequest, "SPDY: header block cannot be unpacked");
    }
    plain.resize(plain.size() - stream.avail_out);
    return parse_block(plain);
}

}  // namespace porthole::net
