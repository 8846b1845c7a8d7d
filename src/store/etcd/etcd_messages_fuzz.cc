// Whatever an etcd, or who is taken for one, answers is read or refused; what was read is written and read again the same.
#include <cstdlib>

#include "store/etcd/messages.h"

using namespace porthole::store::etcd;

namespace {

template <class Message>
void try_message(std::string_view bytes) {
    const auto message = decode<Message>(bytes);
    if (!message) return;
    const std::string written = encode(*message);
    const auto again = decode<Message>(written);
    if (!again || encode(*again) != written) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    try_message<WatchResponse>(bytes);
    try_message<RangeResponse>(bytes);
    try_message<TxnResponse>(bytes);
    try_message<LeaseGrantResponse>(bytes);
    try_message<LeaseKeepAliveResponse>(bytes);
    try_message<LeaseTimeToLiveResponse>(bytes);
    try_message<StatusResponse>(bytes);
    try_message<MemberListResponse>(bytes);
    try_message<MemberAddResponse>(bytes);
    try_message<MemberPromoteResponse>(bytes);
    try_message<MemberRemoveResponse>(bytes);
    return 0;
}
