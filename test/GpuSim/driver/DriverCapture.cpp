//===- DriverCapture.cpp - Streams that are captured to a graph -----------===//
//
// Only library calls are captured here. A caller adds its own kernels and
// copies as nodes.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "Graph.h"
#include "GraphNodes.h"
#include "Stream.h"

using namespace mtp::gpusim;

static CUresult noStream(const char *name) {
  return refuse(CUDA_ERROR_INVALID_HANDLE, "%s: expected a live stream", name);
}

MTP_API cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graphHandle,
                                    const CUgraphNode *dependencies,
                                    const CUgraphEdgeData *edges, size_t count,
                                    CUstreamCaptureMode mode) {
  Entry entry("cuStreamBeginCaptureToGraph");
  if (entry.refused())
    return entry.result();
  Stream *stream = streams().find(handle);
  if (!stream)
    return noStream("cuStreamBeginCaptureToGraph");
  if (stream->capture)
    return refuse(CUDA_ERROR_ILLEGAL_STATE,
                  "cuStreamBeginCaptureToGraph: expected a stream that is not "
                  "captured yet");
  Graph *graph = findGraph(graphHandle);
  if (!graph)
    return refuse(CUDA_ERROR_INVALID_HANDLE,
                  "cuStreamBeginCaptureToGraph: expected a live graph");
  if (mode != CU_STREAM_CAPTURE_MODE_RELAXED)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "cuStreamBeginCaptureToGraph: the relaxed mode is simulated, "
                  "mode %d is not",
                  int(mode));
  if (edges)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "cuStreamBeginCaptureToGraph: edges with data are not "
                  "simulated");
  Node probe;
  if (CUresult failed = readEdges(*graph, dependencies, nullptr, count, probe))
    return failed;
  stream->capture = graph;
  stream->captured.assign(dependencies, dependencies + count);
  return CUDA_SUCCESS;
}

MTP_API cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *status,
                               cuuint64_t *id, CUgraph *graph,
                               const CUgraphNode **dependencies,
                               const CUgraphEdgeData **edges, size_t *count) {
  Entry entry("cuStreamGetCaptureInfo");
  if (entry.refused())
    return entry.result();
  Stream *stream = findStream(handle);
  if (!stream)
    return noStream("cuStreamGetCaptureInfo");
  *status = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                            : CU_STREAM_CAPTURE_STATUS_NONE;
  if (!stream->capture)
    return CUDA_SUCCESS;
  if (id)
    *id = 1;
  if (graph)
    *graph = reinterpret_cast<CUgraph>(stream->capture);
  if (dependencies)
    *dependencies = stream->captured.data();
  if (edges)
    *edges = nullptr;
  if (count)
    *count = stream->captured.size();
  return CUDA_SUCCESS;
}

MTP_API cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  Entry entry("cuStreamEndCapture");
  if (entry.refused())
    return entry.result();
  Stream *stream = streams().find(handle);
  if (!stream)
    return noStream("cuStreamEndCapture");
  if (!stream->capture)
    return refuse(CUDA_ERROR_ILLEGAL_STATE,
                  "cuStreamEndCapture: expected a stream that is captured");
  *graph = reinterpret_cast<CUgraph>(stream->capture);
  stream->capture = nullptr;
  stream->captured.clear();
  return CUDA_SUCCESS;
}
