"""Names of the numbers in a Core ML specification: kinds of models, layers and data types.

From Apple's definitions, mlmodel/format/*.proto of https://github.com/apple/coremltools (BSD-3).
"""

from __future__ import annotations


def _read_table(text: str) -> dict[int, str]:
    pairs = (entry.split(":") for entry in text.split())
    return {int(number): name for number, name in pairs}


MODEL_KINDS = _read_table("""
    200:pipelineClassifier 201:pipelineRegressor 202:pipeline 300:glmRegressor
    301:supportVectorRegressor 302:treeEnsembleRegressor 303:neuralNetworkRegressor
    304:bayesianProbitRegressor 400:glmClassifier 401:supportVectorClassifier
    402:treeEnsembleClassifier 403:neuralNetworkClassifier 404:kNearestNeighborsClassifier
    500:neuralNetwork 501:itemSimilarityRecommender 502:mlProgram 555:customModel 556:linkedModel
    560:classConfidenceThresholding 600:oneHotEncoder 601:imputer 602:featureVectorizer
    603:dictVectorizer 604:scaler 606:categoricalMapping 607:normalizer 609:arrayFeatureExtractor
    610:nonMaximumSuppression 900:identity 2000:textClassifier 2001:wordTagger
    2002:visionFeaturePrint 2003:soundAnalysisPreprocessing 2004:gazetteer 2005:wordEmbedding
    2006:audioFeaturePrint 3000:serializedModel
""")
"""The one field of ``Model`` that holds what it computes."""

LAYERS = _read_table("""
    100:convolution 120:pooling 130:activation 140:innerProduct 150:embedding 160:batchnorm 165:mvn
    170:l2normalize 175:softmax 180:lrn 190:crop 200:padding 210:upsample 211:resizeBilinear
    212:cropResize 220:unary 230:add 231:multiply 240:average 245:scale 250:bias 260:max 261:min
    270:dot 280:reduce 290:loadConstant 300:reshape 301:flatten 310:permute 320:concat 330:split
    340:sequenceRepeat 345:reorganizeData 350:slice 400:simpleRecurrent 410:gru
    420:uniDirectionalLSTM 430:biDirectionalLSTM 500:custom 600:copy 605:branch 615:loop
    620:loopBreak 625:loopContinue 635:rangeStatic 640:rangeDynamic 660:clip 665:ceil 670:floor
    680:sign 685:round 700:exp2 710:sin 715:cos 720:tan 730:asin 735:acos 740:atan 750:sinh 755:cosh
    760:tanh 770:asinh 775:acosh 780:atanh 790:erf 795:gelu 815:equal 820:notEqual 825:lessThan
    827:lessEqual 830:greaterThan 832:greaterEqual 840:logicalOr 845:logicalXor 850:logicalNot
    855:logicalAnd 865:modBroadcastable 870:minBroadcastable 875:maxBroadcastable
    880:addBroadcastable 885:powBroadcastable 890:divideBroadcastable 895:floorDivBroadcastable
    900:multiplyBroadcastable 905:subtractBroadcastable 920:tile 925:stack 930:gather 935:scatter
    940:gatherND 945:scatterND 950:softmaxND 952:gatherAlongAxis 954:scatterAlongAxis 960:reverse
    965:reverseSeq 975:splitND 980:concatND 985:transpose 995:sliceStatic 1000:sliceDynamic
    1005:slidingWindows 1015:topK 1020:argMin 1025:argMax 1040:embeddingND 1045:batchedMatmul
    1065:getShape 1070:loadConstantND 1080:fillLike 1085:fillStatic 1090:fillDynamic
    1100:broadcastToLike 1105:broadcastToStatic 1110:broadcastToDynamic 1120:squeeze 1125:expandDims
    1130:flattenTo2D 1135:reshapeLike 1140:reshapeStatic 1145:reshapeDynamic
    1150:rankPreservingReshape 1155:constantPad 1170:randomNormalLike 1175:randomNormalStatic
    1180:randomNormalDynamic 1190:randomUniformLike 1195:randomUniformStatic
    1200:randomUniformDynamic 1210:randomBernoulliLike 1215:randomBernoulliStatic
    1220:randomBernoulliDynamic 1230:categoricalDistribution 1250:reduceL1 1255:reduceL2
    1260:reduceMax 1265:reduceMin 1270:reduceSum 1275:reduceProd 1280:reduceMean 1285:reduceLogSum
    1290:reduceSumSquare 1295:reduceLogSumExp 1313:whereNonZero 1315:matrixBandPart
    1320:lowerTriangular 1325:upperTriangular 1330:whereBroadcastable 1350:layerNormalization
    1400:NonMaximumSuppression 1450:oneHot 1455:cumSum 1460:clampedReLU 1461:argSort 1465:pooling3d
    1466:globalPooling3d 1470:sliceBySize 1471:convolution3d
""")
"""The one field of ``NeuralNetworkLayer`` that holds its parameters."""

DTYPES = _read_table("""
    1:bool 2:string 10:fp16 11:fp32 12:fp64 13:bf16 21:int8 22:int16 23:int32 24:int64 25:int4 31:uint8
    32:uint16 33:uint32 34:uint64 35:uint4 36:uint2 37:uint1 38:uint6 39:uint3 40:fp8e4m3fn 41:fp8e5m2
""")
"""``MILSpec.DataType``, in the spelling of the MIL text."""

ARRAY_DTYPES = _read_table("65552:fp16 65568:fp32 65600:fp64 131080:int8 131104:int32")
"""``ArrayFeatureType.ArrayDataType``."""

FEATURE_KINDS = _read_table("1:int64 2:double 3:string 4:image 5:array 6:dictionary 7:sequence 8:state")
"""The one field of ``FeatureType`` that holds the type."""

COLOR_SPACES = _read_table("10:grayscale 20:RGB 30:BGR 40:grayscale-fp16")
"""``ImageFeatureType.ColorSpace``."""

LAYER_PARAMETERS: dict[str, dict[str, int]] = {
    "convolution": {
        "outputChannels": 1, "kernelChannels": 2, "nGroups": 10, "kernelSize": 20, "stride": 30,
        "dilationFactor": 40, "isDeconvolution": 60, "hasBias": 70,
    },
    "pooling": {"type": 1, "kernelSize": 10, "stride": 20, "globalPooling": 60},
    "upsample": {"scalingFactor": 1, "mode": 5},
    "innerProduct": {"inputChannels": 1, "outputChannels": 2},
    "gather": {"axis": 1},
    "concat": {"sequenceConcat": 100},
    "concatND": {"axis": 1, "interleave": 2},
    "slice": {"startIndex": 1, "endIndex": 2, "stride": 3, "axis": 4},
    "topK": {"axis": 1, "K": 2},
}  # fmt: skip
"""The fields of a layer's parameters that say what it computes, by name; weights are not among them."""
