#pragma once
#include <winsock2.h>
#include <ws2tcpip.h>

typedef SOCKET Socket;
#define NoSocket INVALID_SOCKET
#define SystemName "Windows"
#define SiteFolder "C:\\site"
#define TimedOut WSAETIMEDOUT
#define SHUT_WR SD_SEND
#define poll WSAPoll
