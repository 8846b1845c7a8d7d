#include "base/socket_error.h"

#include <algorithm>
#include <iterator>

namespace porthole {
namespace {

struct SocketError {
    int code;
    std::string_view words;
};

constexpr SocketError SocketErrors[] = {
    {10004, "interrupted system call"},
    {10009, "bad file descriptor"},
    {10013, "permission denied"},
    {10014, "bad address"},
    {10022, "invalid argument"},
    {10024, "too many open files"},
    {10035, "resource temporarily unavailable"},
    {10036, "operation now in progress"},
    {10037, "operation already in progress"},
    {10038, "socket operation on non-socket"},
    {10039, "destination address required"},
    {10040, "message too long"},
    {10041, "protocol wrong type for socket"},
    {10042, "protocol not available"},
    {10043, "protocol not supported"},
    {10044, "socket type not supported"},
    {10045, "operation not supported"},
    {10046, "protocol family not supported"},
    {10047, "address family not supported by protocol"},
    {10048, "address already in use"},
    {10049, "cannot assign requested address"},
    {10050, "network is down"},
    {10051, "network is unreachable"},
    {10052, "network dropped connection on reset"},
    {10053, "software caused connection abort"},
    {10054, "connection reset by peer"},
    {10055, "no buffer space available"},
    {10056, "socket is already connected"},
    {10057, "socket is not connected"},
    {10058, "cannot send after socket shutdown"},
    {10060, "connection timed out"},
    {10061, "connection refused"},
    {10064, "host is down"},
    {10065, "no route to host"},
    {10091, "the network subsystem is not available"},
    {10093, "the network subsystem is not initialized"},
    {10101, "graceful shutdown in progress"},
    {11001, "host not found"},
    {11002, "host not found, try again"},
    {11003, "name resolution failed"},
    {11004, "no address for this name"},
};

}  // namespace

std::string_view socket_error_words(int code) {
    const auto found = std::ranges::lower_bound(SocketErrors, code, {}, &SocketError::code);
    return found != std::end(SocketErrors) && found->code == code ? found->words : std::string_view();
}

}  // namespace porthole
