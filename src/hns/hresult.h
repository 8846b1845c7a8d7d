#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::hns {

/// The failures of HNS that clients distinguish. Any other 32-bit value may also occur.
enum class Hresult : std::uint32_t {
    Ok = 0,
    NotImplemented = 0x80004001,
    Unexpected = 0x8000ffff,
    AccessDenied = 0x80070005,
    InvalidData = 0x8007000d,
    WrongDisk = 0x80070022,  ///< objects of another build in the service's file
    NotSupported = 0x80070032,
    InvalidParameter = 0x80070057,
    AlreadyExists = 0x800700b7,
    ElementNotFound = 0x80070490,
    RpcServerUnavailable = 0x800706ba,
    RpcCallFailed = 0x800706be,
    ObjectAlreadyExists = 0x80071392,
    NetworkNotFound = 0x803b0001,
    EndpointNotFound = 0x803b0002,
    SwitchNotFound = 0x803b0004,
    SubnetNotFound = 0x803b0005,
    AdapterNotFound = 0x803b0006,
    PortNotFound = 0x803b0007,  ///< transient while a switch port is created or removed
    PolicyNotFound = 0x803b0008,
    InvalidNetwork = 0x803b000a,
    InvalidNetworkType = 0x803b000b,
    InvalidEndpoint = 0x803b000c,
    InvalidPolicy = 0x803b000d,
    InvalidPolicyType = 0x803b000e,
    InvalidRemoteEndpointOperation = 0x803b000f,
    NetworkAlreadyExists = 0x803b0010,
    PolicyAlreadyExists = 0x803b0012,
    PortAlreadyExists = 0x803b0013,
    EndpointAlreadyAttached = 0x803b0014,
    RequestUnsupported = 0x803b0015,
    InvalidJson = 0x803b001b,
    InvalidJsonReference = 0x803b001c,
    InvalidIp = 0x803b001e,
    ManagerStopped = 0x803b0020,
    EndpointNamespaceAlreadyExists = 0x803b002b,
    EntityHasReferences = 0x803b002c,
    InvalidInternalPort = 0x803b002d,
    NamespaceAttachFailed = 0x803b002e,
    AddressInvalidOrReserved = 0x803b002f,
    InvalidPrefix = 0x803b0030,
    InvalidSubnet = 0x803b0032,
    InvalidIpSubnet = 0x803b0033,
    EndpointNotAttached = 0x803b0034,
    EndpointNotLocal = 0x803b0035,
};

/// "HCN_E_NETWORK_NOT_FOUND"; "0x8007abcd" for values without a name.
std::string hresult_name(Hresult code);
/// "0x803b0001"
std::string hresult_text(Hresult code);

/// "HCN_E_NETWORK_NOT_FOUND (0x803b0001): The network was not found." with the code in its causes. `text` is that of the error record; ""
/// uses the default text. The reason is NotFound, AlreadyExists, Invalid, Unavailable (a retry may help), MethodNotAllowed (not supported
/// by this build) or InternalError.
Error hresult_error(Hresult code, std::string text = "");
/// The code of an error; Ok if it has none, because it did not come from the service.
Hresult hresult_of(const Error& error);
/// The text of the error record behind an error; its message if there is none.
std::string record_text(const Error& error);
inline bool is_hresult(const Error& error, Hresult code) { return hresult_of(error) == code; }
/// The object is not there: any of the NOT_FOUND codes of objects and ElementNotFound, but not PortNotFound.
bool is_object_missing(const Error& error);
/// The service is down or restarting; it brings its objects back with the same ids.
bool is_disconnected(const Error& error);

/// An error record, `{"Success":false,"Error":"...","ErrorCode":2151350273}`, of an error.
std::string error_record(const Error& error);
/// The error that an HRESULT and its record mean. A record counts as failure even with an HRESULT of success.
Error error_of_record(std::uint32_t hresult, std::string_view record);

}  // namespace porthole::hns
