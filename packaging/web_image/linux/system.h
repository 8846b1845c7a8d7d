#pragma once
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

typedef int Socket;
#define NoSocket (-1)
#define SystemName "Linux"
#define SiteFolder "/site"
#define TimedOut ETIMEDOUT
