#pragma once  // private to this folder
#include "net/http/http.h"

namespace porthole::net {

/// The header blocks of one direction of a SPDY/3 session: one zlib stream for its whole life.
class SpdyHeaderWriter {
public:
    SpdyHeaderWriter();
    ~SpdyHeaderWriter();
    SpdyHeaderWriter(const SpdyHeaderWriter&) = delete;
    /// One block, packed. Blocks must be sent in the order in which they were written.
    std::string write(const Headers& headers);

private:
    struct Zlib;
    std::unique_ptr<Zlib> zlib_;
};

/// The reader of the other side's blocks, in the order in which they were written.
class SpdyHeaderReader {
public:
    static constexpr std::size_t LargestBlock = 64 << 10;  ///< bytes, unpacked

    SpdyHeaderReader();
    ~SpdyHeaderReader();
    SpdyHeaderReader(const SpdyHeaderReader&) = delete;
    /// Names in lower case; several values of a name become several fields. Error: BadRequest, and the reader is of no
    /// more use.
    Result<Headers> read(std::string_view block);

private:
    struct Zlib;
    std::unique_ptr<Zlib> zlib_;
};

}  // namespace porthole::net
