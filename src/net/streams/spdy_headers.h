#pragma once  // private to this folder
#include "net/http/http.h"

namespace porthole::net {

/// Writes the header blocks of one direction of a SPDY/3 session, which are one zlib stream for the whole session.
class SpdyHeaderWriter {
public:
    SpdyHeaderWriter();
    ~SpdyHeaderWriter();
    SpdyHeaderWriter(const SpdyHeaderWriter&) = delete;
    /// One compressed block. Blocks must be sent in the order in which they were written.
    std::string write(const Headers& headers);

private:
    struct Zlib;
    std::unique_ptr<Zlib> zlib_;
};

/// Reads the other side's blocks, in the order in which they were written.
class SpdyHeaderReader {
public:
    static constexpr std::size_t LargestBlock = 64 << 10;  ///< bytes, unpacked; and of its fields, with 32 for each

    SpdyHeaderReader();
    ~SpdyHeaderReader();
    SpdyHeaderReader(const SpdyHeaderReader&) = delete;
    /// Names in lower case; several values of a name become several fields. After an error the reader cannot be used any longer. Error:
    /// BadRequest.
    Result<Headers> read(std::string_view block);

private:
    struct Zlib;
    std::unique_ptr<Zlib> zlib_;
};

}  // namespace porthole::net
