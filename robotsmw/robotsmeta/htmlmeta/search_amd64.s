//go:build !purego

#include "textflag.h"

// func skipM(b []byte) int
//
// Each turn compares 64 bytes with '<' (X3 to X6), and those that follow them with 'm' once they are in lower case
// (X7 to X10). It ends before the block in which both hold anywhere.
TEXT ·skipM(SB), NOSPLIT, $0-32
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), CX
	XORQ AX, AX
	SUBQ $65, CX // where the last turn may begin: it reads 65 bytes
	JLT  done

	MOVQ       $0x3c3c3c3c3c3c3c3c, BX
	MOVQ       BX, X0
	PUNPCKLQDQ X0, X0                   // '<'
	MOVQ       $0x6d6d6d6d6d6d6d6d, BX
	MOVQ       BX, X1
	PUNPCKLQDQ X1, X1                   // 'm'
	MOVQ       $0x2020202020202020, BX
	MOVQ       BX, X2
	PUNPCKLQDQ X2, X2                   // the bit of lower case

turn:
	MOVOU    (SI)(AX*1), X3
	MOVOU    16(SI)(AX*1), X4
	MOVOU    32(SI)(AX*1), X5
	MOVOU    48(SI)(AX*1), X6
	MOVOU    1(SI)(AX*1), X7
	MOVOU    17(SI)(AX*1), X8
	MOVOU    33(SI)(AX*1), X9
	MOVOU    49(SI)(AX*1), X10
	POR      X2, X7
	POR      X2, X8
	POR      X2, X9
	POR      X2, X10
	PCMPEQB  X0, X3
	PCMPEQB  X0, X4
	PCMPEQB  X0, X5
	PCMPEQB  X0, X6
	PCMPEQB  X1, X7
	PCMPEQB  X1, X8
	PCMPEQB  X1, X9
	PCMPEQB  X1, X10
	PAND     X3, X7
	PAND     X4, X8
	PAND     X5, X9
	PAND     X6, X10
	POR      X8, X7
	POR      X10, X9
	POR      X9, X7
	PMOVMSKB X7, DX
	TESTL    DX, DX
	JNE      done
	ADDQ     $64, AX
	CMPQ     AX, CX
	JLE      turn

done:
	MOVQ AX, ret+24(FP)
	RET
